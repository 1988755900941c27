"""An agent's calls by the official Python SDK, over both transports and in both eras of the protocol."""

import asyncio
import os
import sys
from collections.abc import Awaitable
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

PROGRAM = sys.argv[1]
URL = os.environ["SIGNALDEX_URL"] + "/mcp"
TOOLS = ["search", "count", "options", "signal", "company", "changes", "aggregate", "companies"]
# The present revision by discovery and at once, and the handshake of earlier ones.
MODES = ["auto", "2026-07-28", "legacy"]


@asynccontextmanager
async def over_http(mode: str, key: str):
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            yield client


@asynccontextmanager
async def over_stdio(mode: str):
    server = StdioServerParameters(command=PROGRAM, args=["mcp", "@sample"])
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


async def refused(call: Awaitable[object]) -> int:
    """The code of the error with which a call is refused."""
    try:
        result = await call
    except MCPError as error:
        return error.error.code
    raise AssertionError(result)


async def session(client: Client, is_metered: bool) -> int:
    """Calls each tool, and returns what that was charged."""
    charged = 0

    async def call(name: str, **arguments: object) -> dict:
        nonlocal charged
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        content = result.structured_content
        assert ("usage" in content) == is_metered, content
        charged += content.get("usage", {}).get("charged", 0)
        return content

    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    countries = (await call("options", facets=["countries"]))["options"]["countries"]
    counted = (await call("count", q='"series a"', country="Germany"))["count"]
    assert 0 < counted <= countries["Germany"], (counted, countries)

    mistake = await client.call_tool("search", {"q": '"series a"', "contry": "Germany", "limit": 99})
    assert mistake.is_error
    assert "did you mean country?" in mistake.content[0].text, mistake
    assert "1 to 50" in mistake.content[0].text, mistake

    filters = {"q": '"series a"', "country": "Germany"}
    page = await call("search", limit=4, **filters)
    found = page["signals"]
    while "nextCursor" in page:
        page = await call("search", limit=4, cursor=page["nextCursor"], **filters)
        found += page["signals"]
    assert len(found) == counted, (len(found), counted)
    signal = (await call("signal", id=found[0]["id"]))["signal"]
    company = (await call("company", slug=signal["companySlug"]))["company"]
    assert company["country"] == "Germany", company
    hires = [{"categories": ["hiring"], "min": 2}]
    number = (await call("companies", has=hires, countOnly=True))["count"]
    hiring = (await call("companies", has=hires, order="-matches", limit=2))["companies"]
    assert 2 <= len(hiring) <= number and hiring[0]["matches"][0]["count"] >= 2, hiring
    position = (await call("changes"))["next"]
    assert (await call("changes", since=position))["changes"] == []

    assert await refused(client.call_tool("drop_tables", {})) == -32602
    return charged


async def main() -> None:
    for mode in MODES:
        async with over_http(mode, os.environ["SIGNALDEX_KEY"]) as client:
            charged = await session(client, is_metered=True)
            assert charged == 15 + 1 + 1 + 2, charged
        async with over_stdio(mode) as client:
            assert await session(client, is_metered=False) == 0
    # Errors are caught inside, since the client's end would wrap them in groups.
    async with over_http(MODES[1], "sdx_unknown") as client:
        await refused(client.list_tools())
    async with over_http(MODES[1], os.environ["SLOW_KEY"]) as client:
        await client.list_tools()
        assert await refused(client.call_tool("count", {})) == 429
    print("the SDK's client: all as expected")


asyncio.run(main())
