"""A walk, a count, a detail and each error, by the client that openapi-python-client makes.

The generated client repeats a list's parameter for each item (`explode`), whatever the document says, so a
list is passed as one item with commas in it.
"""

import os

from signaldex_client import AuthenticatedClient, Client
from signaldex_client.api.companies import get_company
from signaldex_client.api.service import get_health, get_readiness
from signaldex_client.api.signals import get_filter_options, get_signal, search_signals
from signaldex_client.models import CompanySize, ParameterErrorCode, Problem, ProblemCode
from signaldex_client.types import UNSET

URL = os.environ["SIGNALDEX_URL"]


def client(name: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=URL, token=os.environ.get(name, "none"))


def assert_problem(problem: object, status: int, code: ProblemCode) -> None:
    assert isinstance(problem, Problem), problem
    assert (problem.status, problem.code) == (status, code), problem


api = client("SIGNALDEX_KEY")
filters = {"categories": ["funding,hiring"], "country": "Germany", "size": CompanySize("501+")}

counted = search_signals.sync(client=api, count_only=True, **filters)
seen, cursor = 0, UNSET
while cursor is not None:
    page = search_signals.sync_detailed(client=api, limit=4, cursor=cursor, **filters)
    assert page.headers["x-usage-charged"] == str(len(page.parsed.data.items))
    seen += len(page.parsed.data.items)
    cursor = page.parsed.data.next_cursor
assert 4 < seen == counted.data.count, (seen, counted)

named = search_signals.sync(client=api, ids=["7477456168553964859,7471864829972502442"])
assert len(named.data.items) == 2
assert any(signal.funding for signal in named.data.items)
detail = get_signal.sync("7477456168553964859", client=api).data
assert detail.company.country == "Brazil"
company = get_company.sync(detail.company_slug, client=api).data
assert company.name == detail.company_name
options = get_filter_options.sync(client=api, categories=["funding"]).data
assert len(options.countries) > 1
assert get_health.sync(client=Client(base_url=URL)).status == "ok"
assert get_readiness.sync(client=Client(base_url=URL)).status == "ready"

invalid = search_signals.sync(client=api, limit=51)
assert_problem(invalid, 400, ProblemCode.INVALID_REQUEST)
assert invalid.errors[0].code == ParameterErrorCode.INVALID_VALUE
assert_problem(search_signals.sync(client=client("NO_KEY")), 401, ProblemCode.UNAUTHORIZED)
poor = client("POOR_KEY")
assert_problem(search_signals.sync(client=poor), 402, ProblemCode.QUOTA_EXCEEDED)
assert_problem(get_company.sync(detail.company_slug, client=poor), 403, ProblemCode.FORBIDDEN)
assert_problem(get_signal.sync("1", client=api), 404, ProblemCode.NOT_FOUND)
long = search_signals.sync(client=api, companies=["x" * 64_100])
assert_problem(long, 414, ProblemCode.INVALID_REQUEST)
search_signals.sync(client=api, limit=1, idempotency_key="python-walk")
reused = search_signals.sync(client=api, limit=2, idempotency_key="python-walk")
assert_problem(reused, 422, ProblemCode.IDEMPOTENCY_KEY_REUSED)
slow = client("SLOW_KEY")
get_filter_options.sync(client=slow)
assert_problem(get_filter_options.sync(client=slow), 429, ProblemCode.RATE_LIMITED)
print(f"Python: {seen} signals walked, every error as documented")
