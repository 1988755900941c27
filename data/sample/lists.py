"""What the sample corpus is made of: names, places, trades and sentences, all written by hand.

The companies and people are invented; the countries and cities are real.
"""

# Country: (how often, currency, cities).
COUNTRIES = {
    "Germany": (34, "EUR", ["Berlin", "München", "Hamburg", "Köln", "Leipzig"]),
    "United States": (60, "USD", ["New York", "San Francisco", "Austin", "Boston", "Chicago"]),
    "United Kingdom": (34, "GBP", ["London", "Manchester", "Edinburgh", "Bristol"]),
    "France": (22, "EUR", ["Paris", "Lyon", "Toulouse", "Saint-Étienne"]),
    "Netherlands": (14, "EUR", ["Amsterdam", "Rotterdam", "Utrecht", "'s-Hertogenbosch"]),
    "Spain": (12, "EUR", ["Madrid", "Barcelona", "A Coruña"]),
    "Sweden": (11, "SEK", ["Stockholm", "Göteborg", "Malmö"]),
    "India": (11, "INR", ["Bengaluru", "Mumbai", "Pune"]),
    "Canada": (10, "CAD", ["Toronto", "Montréal", "Vancouver"]),
    "Switzerland": (9, "CHF", ["Zürich", "Basel", "Lausanne"]),
    "Austria": (6, "EUR", ["Wien", "Graz"]),
    "Denmark": (6, "DKK", ["København", "Aarhus"]),
    "Ireland": (6, "EUR", ["Dublin", "Cork"]),
    "Italy": (6, "EUR", ["Milano", "Torino", "Bologna"]),
    "Poland": (6, "PLN", ["Warszawa", "Kraków", "Łódź"]),
    "Finland": (5, "EUR", ["Helsinki", "Jyväskylä"]),
    "Norway": (5, "NOK", ["Oslo", "Tromsø"]),
    "Brazil": (5, "USD", ["São Paulo", "Florianópolis"]),
    "Australia": (5, "AUD", ["Sydney", "Melbourne"]),
    "Israel": (5, "USD", ["Tel Aviv", "Haifa"]),
    "Japan": (5, "JPY", ["Tokyo", "Osaka", "Kyoto"]),
    "Singapore": (4, "USD", ["Singapore"]),
    "Portugal": (4, "EUR", ["Lisboa", "Porto"]),
    "Estonia": (3, "EUR", ["Tallinn", "Tartu"]),
    "Korea, Republic of": (3, "USD", ["Seoul", "Busan"]),
    "Mexico": (3, "USD", ["Ciudad de México", "Mérida"]),
    "Nigeria": (3, "USD", ["Lagos", "Abuja"]),
    "Kenya": (3, "USD", ["Nairobi"]),
    "Côte d'Ivoire": (2, "EUR", ["Abidjan"]),
    "Viet Nam": (2, "USD", ["Hà Nội", "Đà Nẵng"]),
    "Türkiye": (2, "USD", ["İstanbul", "İzmir"]),
    "Ukraine": (2, "USD", ["Kyiv", "Lviv"]),
    "Czechia": (2, "EUR", ["Praha", "Brno"]),
    "New Zealand": (2, "USD", ["Auckland", "Whangārei"]),
}

# Countries that sentences call otherwise than registers do.
COUNTRY_WORDS = {
    "United States": "the United States", "United Kingdom": "the United Kingdom",
    "Netherlands": "the Netherlands", "Korea, Republic of": "Korea", "Viet Nam": "Vietnam",
}

# Industry: trade words of names, what is sold, what money is for, what is talked about.
INDUSTRIES = {
    "Robotics & Automation": (
        ["Robotics", "Automation", "Machines"],
        ["picking robots", "mobile robots", "a robot arm for small workshops", "gripper software"],
        ["automate warehouses", "bring robots to small workshops", "double its assembly line"],
        ["warehouse automation", "machine learning", "computer vision", "predictive maintenance"]),
    "Financial Services": (
        ["Pay", "Capital", "Ledger", "Finance"],
        ["cross-border payments", "an invoice financing tool", "expense cards", "a treasury API"],
        ["bring instant payments to small businesses", "expand its lending book",
         "win a banking licence"],
        ["open banking", "embedded finance", "fraud detection", "small business lending"]),
    "Health Care": (
        ["Health", "Care", "Clinics"],
        ["a triage assistant", "remote patient monitoring", "a booking platform for clinics"],
        ["open clinics in five more cities", "shorten waiting times", "support nurses at home"],
        ["digital health", "patient safety", "women's health", "machine learning"]),
    "Biotechnology": (
        ["Bio", "Therapeutics", "Genomics"],
        ["a gene therapy candidate", "an enzyme platform", "a lab automation kit"],
        ["start its first clinical trial", "scale enzyme production", "advance its lead candidate"],
        ["drug discovery", "gene therapy", "protein design", "precision medicine"]),
    "Renewable Energy": (
        ["Energy", "Solar", "Wind", "Grid"],
        ["balcony solar kits", "a grid forecasting tool", "community batteries", "heat pumps"],
        ["build community batteries", "install 10,000 heat pumps", "bring solar to rented homes"],
        ["energy storage", "green hydrogen", "grid flexibility", "clean energy"]),
    "Logistics & Supply Chain": (
        ["Freight", "Logistics", "Cargo"],
        ["a freight marketplace", "route planning software", "cold chain sensors"],
        ["digitise road freight", "cut empty miles", "open three distribution hubs"],
        ["supply chain", "last mile delivery", "route planning", "customs clearance"]),
    "Software": (
        ["Software", "Systems", "Labs", "Cloud"],
        ["an API gateway", "a no-code workflow builder", "a test runner for C++", "an audit log"],
        ["grow its developer community", "open a second engineering hub", "rebuild its platform"],
        ["open source", "developer experience", "machine learning", "large language models"]),
    "Cyber Security": (
        ["Security", "Shield", "Defence"],
        ["a zero trust gateway", "phishing training", "a secrets scanner"],
        ["protect hospitals from ransomware", "expand its response team"],
        ["cyber security", "zero trust", "identity verification", "incident response"]),
    "Education": (
        ["Learning", "Academy", "School"],
        ["a maths tutor app", "an apprenticeship platform", "a reading tool for dyslexic children"],
        ["bring its tutor to 500 schools", "train 2,000 apprentices"],
        ["lifelong learning", "apprenticeships", "children's education"]),
    "Food & Beverages": (
        ["Foods", "Kitchen", "Brewing"],
        ["oat-based cheese", "a meal kit for hospitals", "alcohol-free cider"],
        ["build a second dairy-free plant", "enter 1,200 supermarkets"],
        ["plant-based protein", "food waste", "alternative proteins"]),
    "Real Estate": (
        ["Homes", "Property", "Living"],
        ["a rental platform", "modular student homes", "a building passport"],
        ["renovate 3,000 flats", "launch in four more cities"],
        ["affordable housing", "energy renovation", "modular construction"]),
    "Automotive": (
        ["Motors", "Mobility", "Charging"],
        ["curbside charging", "an electric cargo bike", "a battery swap station"],
        ["install 5,000 charging points", "start series production"],
        ["electric vehicles", "battery recycling", "autonomous driving"]),
    "Retail": (
        ["Market", "Goods", "Outfitters"],
        ["same-day returns", "a second-hand store", "a checkout without queues"],
        ["open ten stores", "make returns free of packaging"],
        ["circular economy", "customer experience", "real-time inventory"]),
    "Media & Entertainment": (
        ["Media", "Studios", "Games"],
        ["a co-op puzzle game", "a podcast editor", "live captions for theatres"],
        ["finish its first game", "translate its catalogue"],
        ["podcasting", "indie games", "live streaming"]),
    "Aerospace & Defense": (
        ["Space", "Orbital", "Aerospace"],
        ["a thruster for small satellites", "wildfire imagery", "a delivery drone"],
        ["launch twelve satellites", "fly its first orbital mission"],
        ["earth observation", "satellite imagery", "drone delivery"]),
    "Semiconductors": (
        ["Semiconductors", "Photonics", "Silicon"],
        ["a low-power vision chip", "photonic interconnects", "a radiation-hard controller"],
        ["tape out its second chip", "build a pilot line"],
        ["edge computing", "chip design", "silicon photonics"]),
    "Agriculture": (
        ["Farms", "Agri", "Harvest"],
        ["soil sensors", "a strawberry picker", "drought-tolerant seeds"],
        ["bring soil sensors to 20,000 farms", "grow strawberries all year"],
        ["vertical farming", "soil health", "crop monitoring"]),
    "Human Resources": (
        ["People", "Talent", "Work"],
        ["a payroll platform", "shift planning for care homes", "a mentoring app"],
        ["launch payroll in six countries", "help 1,000 employers hire"],
        ["employee engagement", "pay transparency", "remote work"]),
    "Oil, Gas & Mining": (
        ["Minerals", "Resources"],
        ["a lithium brine process", "leak detection by drone"],
        ["build a lithium pilot plant", "map tailings for recovery"],
        ["critical minerals", "methane monitoring"]),
    "Leisure, Travel & Tourism": (
        ["Travel", "Trails", "Hotels"],
        ["night train bookings", "a hiking planner", "rooms by the hour"],
        ["connect 40 night trains", "open an alpine lodge"],
        ["sustainable travel", "night trains", "business travel"]),
    "Environmental Services": (
        ["Water", "Recycling", "Carbon"],
        ["a microplastics filter", "textile recycling", "a carbon ledger"],
        ["recycle 10,000 tonnes of textiles", "remove carbon with basalt"],
        ["carbon capture", "net zero", "water reuse"]),
    "Insurance": (
        ["Insurance", "Cover", "Mutual"],
        ["flood cover by sensor", "insurance for freelancers"],
        ["insure a million freelancers", "enter the reinsurance market"],
        ["climate risk", "claims automation", "risk management"]),
}

# First words of company names.
STEMS = """
Northwind Brightmoor Haldenby Kestrelby Lumenfold Tidewright Ostravel Birchline Quillon Fennmark
Veldt Saltmarsh Pinegrove Aldermoor Copperleigh Driftwell Emberly Fjordlane Glasswingham Hollowell
Ironquay Juniperra Kitebrook Larkspire Millhaven Nettlefold Oakhurstley Pebblestone Quarrybank
Ravensworth Silverbeck Thistledown Umberfield Valewood Westerby Yarrowdale Zephyrine Amberlock
Bluehollow Cinderford Dovecrest Eastermoor Foxglovia Greywater Hazelmere Islewright Jasperton
Knollwood Lindenau Marlowick Nightjarra Orchardine Plumridge Quaylight Rosenthorn Stonecroftly
Tamarindo Undula Violetta Willowmere Yonderly Zirconia Arborline Beaconwell Cloudberrow Duskvale
Elmsteadow Fernbankside Goldfinchley Harbourne Inkwellian Jadestone Kelpforest Lanternfish Mossgrove
Needlepont Overbrookly Papercrane Quicksilva Riverbendal Sandpipery Tallowtree Upwelling Vantagely
Wrenfield Xylora Yewtreave Zenithal Ashgrovia Bramblewick Cobaltry Dandelio Eiderdown Flintlocke
Gladewater Heronsgate Indigora Jackdawn Kingfishery Lavendale Meadowlarch Nutmegan Opalinden
Pomelora Questrel Rookhaven Sorrelwood Turnstane Ultramara Verbenia Wildryeland Xenolith Yellowham
Zinniata Anchorite Bellwetherly Cedarvale Dunmorrow Evenfall Falkenried Grauwald Himmelreich
Isarfeld Kieferhof Lindwurmer Morgentau Nordlichtung Ostermannau Rabenstein Spreeufer Tannengrund
Uferlos Vogelsangen Weidenbach Zwirnerei Ardoise Bocage Clairval Dunette Églantine Fougère Genêt
Hirondellou Lisière Mirabellou Noisetier Pervenche Roseraie Soleillet Tramontanelle Verveine
Almendra Brisamar Cigarrel Duendera Encinalba Faroluz Golondra Jacarandel
""".split()

# Companies whose names break careless readers: (name, slug, country, industry).
AWKWARD_COMPANIES = [
    ("O'Hanlon's Kitchen, Ltd.", "ohanlons-kitchen", "Ireland", "Food & Beverages"),
    ("Studio \"Ninth Floor\", Inc.", "studio-ninth-floor", "United States", "Media & Entertainment"),
    ("Müller-Kjær Maschinen GmbH & Co. KG", "mueller-kjaer", "Germany", "Robotics & Automation"),
    ("Café Lumière & Fils", "cafe-lumiere", "France", "Food & Beverages"),
    ("C++ Foundry", "cpp-foundry", "Netherlands", "Software"),
    ("U.S. Tidewater Supply", "us-tidewater-supply", "United States", "Logistics & Supply Chain"),
    ("R&D Collective", "rd-collective", "Sweden", "Biotechnology"),
    ("株式会社ミナトロボ", "minatorobo", "Japan", "Robotics & Automation"),
    ("Північний Вітер", "pivnichnyi-viter", "Ukraine", "Renewable Energy"),
    ("São Bento Agro S.A.", "sao-bento-agro", "Brazil", "Agriculture"),
    ("Đông Hải Logistics", "dong-hai", "Viet Nam", "Logistics & Supply Chain"),
    ("4th & Pine", "4th-and-pine", "Canada", "Retail"),
    ("Größenwahn Games", "groessenwahn-games", "Germany", "Media & Entertainment"),
    ("Ile d'Ébène Énergie", "ile-debene", "Côte d'Ivoire", "Renewable Energy"),
    ("한빛 바이오", "hanbit-bio", "Korea, Republic of", "Biotechnology"),
    ("zero→one", "zero-one", "Estonia", "Software"),
]

FIRST_NAMES = """
Amara Anneliese Aoife Bartosz Beatriz Björn Camille Chidi Chloé Dagmar Devika Eero Elif Emeka Esther
Fatima Finn Freya Giulia Grace Hanna Haruto Ines Ingrid Jonas Kavya Katarzyna Lars Leila Lena Liam
Lucía Mateus Maya Mei Mikkel Nadia Niamh Noor Oksana Owen Paulo Priya Rafael Ruth Sanne Sota Søren
Tariq Theo Tomás Ulrike Vera Wanjiru Yael Yusuf Zoë
""".split()

SURNAMES = """
Abara Adler Almeida Bakker Bergström Brandt Byrne Castellano Costa Dlamini Duarte Eklund Faure Ferrari
Fujimoto Gallagher Haas Hallström Ibarra Iversen Jansen Kaplan Keller Kowalczyk Laurent Lindqvist
Marchetti Mbeki Moreau Mwangi Nair Nakagawa Novotná O'Shea Okonkwo Oliveira Park Petrenko Quispe Rao
Reinholt Romero Sandoval Seidel Takeda Thorne Vasquez Virtanen Weiss Whitlock Yıldız Zieliński
""".split()

# Function: (ID, titles without a level).
JOBS = [
    ("engineering", ["Software Engineer", "Backend Engineer (Rust)", "C++ Developer",
                     "DevOps Engineer", "Frontend Engineer", "Embedded C Engineer", "C# Developer"]),
    ("data", ["Machine Learning Engineer", "Data Engineer", "Data Scientist", "Data Analyst"]),
    ("sales", ["Account Executive", "Sales Manager", "Business Development Manager"]),
    ("marketing", ["Content Marketer", "Product Marketing Manager", "Brand Designer"]),
    ("product", ["Product Manager", "Product Owner"]),
    ("design", ["UX Designer", "Industrial Designer"]),
    ("operations", ["Operations Manager", "Supply Chain Planner", "Site Manager"]),
    ("finance", ["Financial Controller", "Accountant"]),
    ("human-resources", ["Recruiter", "People Partner"]),
    ("legal", ["Legal Counsel", "Compliance Manager"]),
    ("research", ["R&D Engineer", "Research Scientist"]),
    ("customer-success", ["Customer Success Manager", "Support Agent"]),
]

HEADS = {
    "engineering": "Engineering", "data": "Data Engineering", "sales": "Sales",
    "marketing": "Marketing", "product": "Product", "design": "Design",
    "operations": "Operations", "finance": "Finance", "human-resources": "People",
    "legal": "Legal", "research": "Research", "customer-success": "Customer Success",
}

# Level: (how often, ID, pattern of the role).
LEVELS = [
    (10, "entry", "Junior {job}"), (26, "mid", "{job}"), (28, "senior", "Senior {job}"),
    (8, "lead", "Lead {job}"), (12, "head", "Head of {head}"), (5, "director", "Director of {head}"),
    (4, "vice-president", "VP {head}"), (7, "intern", "{job} Intern"),
]

# Rounds in the order a company raises them: (words, lowest and highest amount in millions).
ROUNDS = [
    ("Pre-Seed", 0.2, 1.5), ("Seed", 0.8, 5), ("Series A", 4, 22), ("Series B", 15, 60),
    ("Series C", 40, 160), ("Series D", 90, 300),
]

# Other money: (how often, words, lowest and highest amount in millions).
OTHER_FUNDING = [
    (7, "Grant", 0.05, 2.5), (4, "Debt Financing", 1, 40), (2, "Convertible Note", 0.2, 2),
]

# What a unit of the dollar, euro or pound roughly is in other currencies.
CURRENCY_FACTORS = {"SEK": 10, "NOK": 10, "DKK": 7, "PLN": 4, "JPY": 150, "INR": 85}
