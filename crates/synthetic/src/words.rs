//! The vocabulary: real words and phrases, followed by any number of invented words.
//!
//! Ranks follow the two-part law of large text collections: Zipf's law with an exponent of one for common words,
//! and of two for rare ones.

use super::random::{Random, Zipf};

/// Appends a random word of the vocabulary, weighted by frequency.
pub(super) fn push_word(random: &mut Random, out: &mut String) {
    let rank = if random.chance(RARE_PERCENT) {
        random.tail_rank(FIRST_RARE_RANK)
    } else {
        COMMON_WORDS.sample(random)
    };
    let real_words = WORDS.len() as u64;
    if rank < real_words {
        out.push_str(WORDS[rank as usize]);
    } else {
        push_coined(rank - real_words, out);
    }
}

/// Appends an invented, capitalised brand name.
pub(super) fn push_brand(random: &mut Random, out: &mut String) {
    let start = out.len();
    push_coined(random.tail_rank(FIRST_BRAND_RANK), out);
    out[start..start + 1].make_ascii_uppercase();
}

/// A phrase of two to four words, or a single word with unusual spelling.
pub(super) fn phrase(random: &mut Random) -> &'static str {
    PHRASE_RANKS.pick(random, PHRASES)
}

/// Percentage of words drawn from the rare ones.
const RARE_PERCENT: u64 = 25;

/// The rank at which rare words start.
const FIRST_RARE_RANK: u64 = 2600;

/// Flattens the distribution of brands, so that few companies share one.
const FIRST_BRAND_RANK: u64 = 500;

const COMMON_WORDS: Zipf = Zipf::new(FIRST_RARE_RANK, 1);

const PHRASE_RANKS: Zipf = Zipf::new(PHRASES.len() as u64, 4);

/// Appends the invented word with a number; different numbers give different words.
///
/// A word has two or more syllables, each of consonants and one vowel, and an ending. Every syllable ends with its
/// vowel, so words can be split in only one way, which makes them unique.
fn push_coined(number: u64, out: &mut String) {
    let endings = ENDINGS.len() as u64;
    push_syllable(number % SYLLABLES, out);
    let ending = ENDINGS[(number / SYLLABLES % endings) as usize];
    let mut rest = number / SYLLABLES / endings;
    push_syllable(rest % SYLLABLES, out);
    rest /= SYLLABLES;
    while rest > 0 {
        push_syllable(rest % SYLLABLES, out);
        rest /= SYLLABLES;
    }
    out.push_str(ending);
}

/// Appends the syllable of a number below [`SYLLABLES`].
fn push_syllable(number: u64, out: &mut String) {
    /// Coprime to [`SYLLABLES`], so that it permutes them and words of neighbouring numbers differ.
    const STEP: u64 = 37;
    let onsets = ONSETS.len() as u64;
    let number = number * STEP % SYLLABLES;
    out.push_str(ONSETS[(number % onsets) as usize]);
    out.push_str(VOWELS[(number / onsets) as usize]);
}

const SYLLABLES: u64 = (ONSETS.len() * VOWELS.len()) as u64;

const ONSETS: &[&str] = &[
    "n", "v", "l", "k", "t", "m", "z", "s", "r", "d", "p", "b", "tr", "f", "g", "cl", "h", "br",
    "st", "j", "gl", "pr", "w", "sk",
];

const VOWELS: &[&str] = &["o", "a", "e", "i", "u"];

const ENDINGS: &[&str] = &["n", "", "x", "r", "l", "s", "th"];

/// Common words of business news, most frequent first.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "to", "the", "for", "in", "and", "of", "with", "new", "a", "on", "platform", "global", "as",
    "from", "by", "at", "growth", "market", "data", "software", "services", "business", "digital",
    "technology", "cloud", "customers", "solutions", "team", "AI", "energy", "security", "health",
    "first", "its", "company", "across", "enterprise", "payments", "sales", "operations",
    "industry", "management", "products", "network", "research", "development", "marketing",
    "finance", "systems", "care", "strategic", "mobile", "online", "logistics", "analytics",
    "power", "production", "retail", "support", "future", "engineering", "capital", "infrastructure",
    "access", "automation", "battery", "manufacturing", "partners", "international", "innovation",
    "climate", "medical", "insurance", "quality", "program", "food", "training", "water", "teams",
    "banking", "clinical", "design", "consumer", "more", "real", "time", "robotics", "hydrogen",
    "solar", "delivery", "commerce", "education", "project", "million", "next", "generation",
    "regional", "workforce", "plant", "facility", "office", "region", "trial", "patients", "drug",
    "vehicle", "fleet", "electric", "charging", "storage", "grid", "carbon", "capture", "steel",
    "housing", "property", "construction", "materials", "mining", "lithium", "recycling", "waste",
    "packaging", "fashion", "beauty", "sports", "gaming", "media", "video", "streaming", "music",
    "content", "creators", "advertising", "brand", "loyalty", "pricing", "billing", "invoicing",
    "accounting", "tax", "audit", "compliance", "legal", "contracts", "procurement", "suppliers",
    "warehouse", "shipping", "freight", "ports", "aviation", "airline", "travel", "hotels",
    "restaurants", "grocery", "farming", "crops", "fertilizer", "protein", "dairy", "seafood",
    "biotech", "genomics", "oncology", "vaccine", "therapy", "diagnostics", "imaging", "surgery",
    "devices", "wearables", "sensors", "chips", "semiconductor", "quantum", "computing",
    "database", "developers", "open", "source", "tools", "integration", "interface", "workflow",
    "agents", "models", "language", "vision", "speech", "translation", "search", "discovery",
    "personalization", "recommendations", "privacy", "identity", "fraud", "detection", "risk",
    "credit", "lending", "mortgage", "wealth", "pensions", "trading", "exchange", "crypto",
    "blockchain", "tokens", "wallet", "cards", "merchant", "checkout", "subscription", "revenue",
    "profit", "margin", "quarter", "annual", "record", "double", "triple", "faster", "safer",
    "cheaper", "smarter", "sustainable", "renewable", "circular", "efficient", "reliable",
    "scalable", "secure", "private", "public", "national", "local", "rural", "urban", "city",
    "government", "defense", "space", "satellite", "launch", "rocket", "drone", "maritime", "naval",
    "rail", "metro", "bus", "bike", "scooter", "mobility", "autonomous", "driving", "mapping",
    "navigation", "weather", "forecast", "monitoring", "inspection", "maintenance", "repair",
    "safety", "standards", "certification", "patent", "license", "agreement", "contract", "deal",
    "joint", "venture", "stake", "minority", "majority", "board", "chair", "chief", "officer",
    "president", "director", "manager", "founder", "advisor", "lead", "senior", "junior", "graduate",
    "intern", "apprentice", "remote", "hybrid", "onsite", "talent", "hiring", "recruitment",
    "culture", "diversity", "benefits", "salary", "retention", "learning", "skills", "university",
    "students", "teachers", "schools", "library", "museum", "charity", "community", "foundation",
    "donation", "volunteers", "award", "winner", "finalist", "ranking", "conference", "summit",
    "webinar", "report", "survey", "study", "findings", "benchmark", "whitepaper", "guide", "demo",
    "pilot", "beta", "release", "version", "feature", "upgrade", "migration", "rollout", "expansion",
    "opening", "headquarters", "campus", "laboratory", "factory", "showroom", "store", "flagship",
    "pharmacy", "hospital", "clinic", "nursing", "dental", "mental", "wellness", "fitness",
    "nutrition", "sleep", "pet", "toys", "furniture", "textiles", "paper", "glass", "cement", "wood",
    "chemicals", "plastics", "coatings", "adhesives", "turbines", "pumps", "valves", "motors",
    "bearings", "cables", "lighting", "heating", "cooling", "ventilation", "elevators", "cranes",
];

/// Common phrases, most frequent first, some with unusual spelling.
#[rustfmt::skip]
const PHRASES: &[&str] = &[
    "machine learning", "supply chain", "artificial intelligence", "customer experience",
    "real time", "data center", "AI-powered", "clean energy", "small business", "U.S. market",
    "health care", "cyber security", "R&D", "e-commerce", "venture capital", "North America",
    "financial services", "climate tech", "open source", "electric vehicles", "digital health",
    "business development", "Latin America", "Middle East", "user experience", "large language models",
    "product management", "human resources", "renewable energy", "real estate", "data engineering",
    "net zero", "long-term", "C++", "private equity", "customer success", "last mile",
    "drug discovery", "cross-border payments", "carbon capture", "computer vision", "public sector",
    "Southeast Asia", "go-to-market", "knowledge graph", "quality assurance", "buy now pay later",
    "head of sales", "chief of staff", "software as a service", "state-of-the-art", "next-generation",
    "energy storage", "gene therapy", "identity verification", "digital twin", "edge computing",
    "point of sale", "embedded finance", "risk management", "open banking", "autonomous driving",
    "natural language processing", "heat pumps", "food delivery", "employee engagement",
    "precision medicine", "predictive maintenance", "Node.js", "C#", "zero trust", "fraud detection",
    "smart home", "green hydrogen", "sales enablement", "circular economy", "industry 4.0", "B2B",
    "24/7 support", "end-to-end", "São Paulo", "the customer's choice", "women's health",
    "children’s education", "M&A", "P&L", "T-shirts", "no-code", "pay-as-you-go", "3D printing",
    "5G", "Web3", "IoT", "SaaS", "HR tech", "café culture", "naïve users", "crème de la crème",
    "Zürich", "U.K. launch", "E.U. rules", "ISO 27001", "SOC 2", "GDPR-ready", "F#", ".NET",
    "at scale", "24h", "100% renewable", "50/50", "@scale", "#1 choice", "🚀", "✨ new", "🌱 green",
    "first-of-its-kind", "\"best in class\"", "O'Reilly", "don't wait", "rock 'n' roll",
    "work/life balance", "research and development", "terms & conditions", "side-by-side",
];

#[cfg(test)]
mod tests;
