"""The sentences of the sample corpus, by category: how often, titles, first sentences of evidence.

Slots are named in braces; `slots`, `funding` and `hiring` of make.py fill them.
"""

STORIES = {
    "funding": (24, [
        "{company} raises {amount} {stage} to {aim}",
        "{company} closes {amount} {stage} round to {aim}",
        "{amount} {stage} for {company} to {aim}",
        "{company} secures {amount} {stage} for {product}",
        "{stage}: {company} lands {amount} for {topic}",
        "{company} announces {amount} {stage} led by {investor}",
        "{city}-based {company} picks up {amount} {stage}",
        "{topic_start} startup {company} completes {amount} {stage}",
    ], [
        "{company} has raised {amount} ({stage}) to {aim}, {ceo} told reporters in {city}.",
        "The {stage} of {amount} was led by {investor}; existing investors took part.",
        "With the {stage}, {company} wants to {aim} and to hire {count} people.",
        "A filing names a {stage} of {amount}. The money goes into {topic}.",
    ]),
    "hiring": (27, [
        "{role} ({arrangement})",
        "{role}, {city}",
        "{role} (f/m/d) at {company}",
        "{company} is hiring: {role}",
        "{company} is looking for {a_role} in {city}",
        "Join {company} as {role} and help {aim}",
        "{role} for {topic}",
        "We're growing: {company} seeks {role}",
        "{company} opens {few} roles in {elsewhere_city}, among them {role}",
    ], [
        "{company} published an opening for {a_role}. The team works on {product}.",
        "The careers page lists {a_role} who will help to {aim}.",
        "\"We need {a_role} who cares about {topic},\" writes {ceo}.",
        "Posted on {company_s} job board: {role}, based in {city}, reporting to {person}.",
    ]),
    "launch": (10, [
        "{company} launches {product}",
        "{company} launches AI-powered assistant for {topic}",
        "{company} unveils {product} at {fair}",
        "Now available: {product} by {company}",
        "{company} brings {product} to {elsewhere}",
        "Out of beta: {company} opens {product} to everyone",
        "{company} starts pilot of {product} with {partner}",
    ], [
        "{company} has launched {product} after a pilot with {count} customers.",
        "From today, customers in {country} can order {product}, the company said.",
        "{ceo} showed {product} on stage at {fair}.",
    ]),
    "partnership": (8, [
        "{company} and {partner} join forces on {topic}",
        "{company} partners with {partner} to {aim}",
        "{partner} chooses {company} for {topic}",
        "{company} signs three-year supply agreement with {partner}",
        "Strategic partnership: {company} x {partner}",
    ], [
        "{company} and {partner} will work together on {topic} for at least {few} months.",
        "{partner} will offer {product} to its own customers, {ceo} said.",
    ]),
    "product": (7, [
        "{company} adds {topic} to its platform",
        "What's new at {company}: {product}, and faster search",
        "{company} ships version {version} with better support for {topic}",
        "{company_s} app now speaks {few} languages",
        "{company} open-sources its {topic} toolkit in Rust and C++",
    ], [
        "The release notes mention {topic} and {few} smaller improvements.",
        "Customers had asked for {topic}; it is part of every plan from today.",
    ]),
    "expansion": (7, [
        "{company} expands to {elsewhere}",
        "{company} opens office in {elsewhere_city}",
        "{company} enters the U.S. market with {product}",
        "New factory: {company} to {aim}",
        "{company} doubles its team in {city}",
    ], [
        "{company} now has {count} people in {city} and {few} in {elsewhere_city}.",
        "After a year of growth at home in {country}, {company} also looks at {elsewhere}.",
    ]),
    "leadership": (5, [
        "{company} appoints {person} as Chief Financial Officer",
        "{person} joins {company} as Head of {head}",
        "{company} names {person} Chief Technology Officer",
        "Founder {ceo} steps back as {person} becomes CEO of {company}",
        "{person} joins the board of {company}",
    ], [
        "{person} comes from {partner}, where they led {topic} for six years.",
        "{ceo}, who founded {company}, welcomed {person} in a post.",
    ]),
    "acquisition": (3, [
        "{company} acquires {partner}",
        "{company} to buy {topic} unit of {partner}",
        "{company} takes majority stake in {partner}",
    ], [
        "{company} has agreed to buy {partner_s} {topic} business with {count} employees.",
        "The price was not disclosed. {partner} will keep its name and its office in {partner_city}.",
    ]),
    "award": (3, [
        "{company} wins {award}",
        "{company} named finalist for {award}",
        "{award}: {company} honoured for {topic}",
    ], [
        "The jury praised {product} and the company's work on {topic}.",
        "{company} was chosen from {count} entries.",
    ]),
    "event": (3, [
        "Meet {company} at {fair}",
        "Webinar: {topic} in practice, with {person} of {company}",
        "{company} hosts {topic} meetup in {city}",
    ], [
        "{company} shows {product} at {fair}.",
        "{person} explains how customers use {product}. Seats are free.",
    ]),
    "research": (2, [
        "{company} publishes study on {topic}",
        "{company}’s {topic} report is out 📈",
        "Survey by {company}: {percent} percent plan to invest in {topic}",
        "{company} and the University of {city} start R&D project on {topic}",
    ], [
        "The study looks at {topic} in {count} firms across {country}.",
        "{person} and colleagues describe what they learned from {product}.",
    ]),
    "regulation": (2, [
        "{company} receives approval for {product}",
        "Regulator clears {company} in {elsewhere}",
        "{company} certified to ISO 27001",
    ], [
        "The authority in {country} has approved {product} after a review of {few} weeks.",
        "{company} now meets the rules for {topic}, an auditor confirmed.",
    ]),
}

# Second sentences that fit any story.
REMARKS = [
    "{company} was founded by {ceo} and works on {topic}.",
    "The company, based in {city}, did not share further details.",
    "\"This is a big step for {topic},\" said {ceo}.",
    "More than {count} customers use {product} today.",
    "Next, the team wants to {aim}.",
    "It follows last year's pilot with {partner}.",
]

# Titles in the language of a country: (category, title).
LOCAL_TITLES = {
    "Germany": [
        ("funding", "{company} sammelt {amount} in {stage}-Runde ein"),
        ("expansion", "{company} eröffnet Büro für künstliche Intelligenz in Köln"),
        ("hiring", "{role} (m/w/d) für {city} gesucht")],
    "France": [
        ("funding", "{company} lève {amount} pour accélérer à l'étranger"),
        ("launch", "{company} dévoile sa nouvelle plateforme à Paris")],
    "Spain": [("funding", "{company} cierra una ronda {stage} de {amount}")],
    "Brazil": [("expansion", "{company} abre escritório em São Paulo")],
    "Japan": [
        ("funding", "{company}が{amount}の資金調達を実施"),
        ("hiring", "機械学習エンジニア募集中（東京）"),
        ("launch", "{company}、新型ロボットを発表 🤖")],
    "Ukraine": [
        ("expansion", "{company} відкриває офіс у Львові"),
        ("funding", "{company} залучила {amount} на розвиток")],
    "Korea, Republic of": [("funding", "{company}, 시리즈 A {amount} 투자 유치")],
    "Viet Nam": [("expansion", "{company} mở văn phòng mới tại Đà Nẵng")],
}

AWARDS = [
    "the Green Harbour Award", "the Founders' Prize 2025", "Best Place to Work (under 100)",
    "the \"Tools That Last\" award", "the Nordlys Innovation Prize", "Startup of the Year",
]

FAIRS = [
    "Harbour Tech Week", "the Supply Chain Summit", "Open Data Days", "Future of Work Expo",
    "the Machine Learning Forum", "Grid & Storage 2026", "MedTech Rhine",
]

ABOUTS = [
    "{company} makes {product} for customers in {country} and beyond. The company cares about "
    "{topic} and was started in {city}.",
    "{company} works on {topic}. Its best-known product is {product}.",
    "From {city}, {company} sells {product} to businesses of every size.",
    "We build {product}. We believe that {topic} should be simple, fair and affordable.",
]

TAGLINES = [
    "{topic_start}, made simple", "{topic_start} for everyone", "Making {topic} work",
    "The people behind {product}", "Less paper, more {topic}", "{product_start}. Nothing else.",
]
