//! Names and positions of authors, and roles with their hiring attributes.

use super::random::{Random, Zipf};

/// A role in a hiring signal.
#[derive(Clone, Copy)]
pub(super) struct JobRole {
    pub(super) title: &'static str,
    pub(super) job_function: &'static str,
    pub(super) seniority: &'static str,
}

/// A random role, weighted by frequency.
pub(super) fn role(random: &mut Random) -> JobRole {
    ROLE_RANKS.pick(random, ROLES)
}

/// A first name and a surname.
pub(super) fn name(random: &mut Random) -> (&'static str, &'static str) {
    (random.pick(FIRST_NAMES), random.pick(SURNAMES))
}

/// A random position of an author.
pub(super) fn position(random: &mut Random) -> &'static str {
    POSITION_RANKS.pick(random, POSITIONS)
}

const ROLE_RANKS: Zipf = Zipf::new(ROLES.len() as u64, 4);

const POSITION_RANKS: Zipf = Zipf::new(POSITIONS.len() as u64, 2);

const fn role_of(
    title: &'static str,
    job_function: &'static str,
    seniority: &'static str,
) -> JobRole {
    JobRole {
        title,
        job_function,
        seniority,
    }
}

/// All roles, most frequent first.
const ROLES: &[JobRole] = &[
    role_of("Software Engineer", "engineering", "mid"),
    role_of("Account Executive", "sales", "mid"),
    role_of("Senior Software Engineer", "engineering", "senior"),
    role_of("Head of Sales", "sales", "head"),
    role_of("Product Manager", "product", "mid"),
    role_of("Machine Learning Engineer", "data", "senior"),
    role_of("Data Scientist", "data", "mid"),
    role_of("Customer Success Manager", "customer-success", "mid"),
    role_of("VP of Engineering", "engineering", "vice-president"),
    role_of("Marketing Manager", "marketing", "mid"),
    role_of("Business Development Representative", "sales", "entry"),
    role_of("Head of Data Engineering", "data", "head"),
    role_of("Chief Financial Officer", "finance", "executive"),
    role_of("Operations Manager", "operations", "mid"),
    role_of("UX Designer", "design", "mid"),
    role_of("C++ Developer", "engineering", "senior"),
    role_of("DevOps Engineer", "engineering", "senior"),
    role_of("Machine Learning Intern", "data", "intern"),
    role_of("Supply Chain Planner", "operations", "mid"),
    role_of("Head of People", "human-resources", "head"),
    role_of("Chief of Staff", "operations", "senior"),
    role_of("R&D Engineer", "research", "senior"),
    role_of("Finance Intern", "finance", "intern"),
    role_of("General Counsel", "legal", "executive"),
    role_of("Sales Director", "sales", "director"),
    role_of("Quality Assurance Analyst", "engineering", "entry"),
    role_of("Regulatory Affairs Specialist", "legal", "mid"),
    role_of("Research Scientist", "research", "senior"),
    role_of("Talent Acquisition Partner", "human-resources", "senior"),
    role_of("Director of Product Marketing", "marketing", "director"),
    role_of("Field Service Technician", "operations", "entry"),
    role_of("Security Engineer", "information-technology", "senior"),
    role_of("C# Developer", "engineering", "mid"),
    role_of("Customer Support Agent", "support", "entry"),
    role_of("Industrial Designer", "design", "senior"),
    role_of("Chief Technology Officer", "engineering", "executive"),
    role_of("IT Administrator", "information-technology", "entry"),
    role_of("Geschäftsführer", "operations", "executive"),
    role_of("Chargé d'affaires", "sales", "mid"),
];

const FIRST_NAMES: &[&str] = &[
    "Aisha",
    "Anna",
    "André",
    "Björn",
    "Carlos",
    "Chloé",
    "Daniel",
    "Elena",
    "Emma",
    "Fatima",
    "François",
    "Grace",
    "Hannah",
    "Hiroshi",
    "Ines",
    "Ivan",
    "James",
    "Jürgen",
    "Kofi",
    "Lars",
    "Laura",
    "Liam",
    "Lucía",
    "Maja",
    "Maria",
    "Mei",
    "Michael",
    "Mohammed",
    "Nadia",
    "Nils",
    "Olga",
    "Oliver",
    "Paweł",
    "Priya",
    "Rachel",
    "Rahul",
    "Sarah",
    "Sofia",
    "Søren",
    "Thomas",
    "Tomás",
    "Wei",
    "Yuki",
    "Zoë",
];

const SURNAMES: &[&str] = &[
    "Almeida",
    "Andersson",
    "Bauer",
    "Becker",
    "Bernard",
    "Brown",
    "Chen",
    "Costa",
    "Dubois",
    "Eriksen",
    "Fischer",
    "García",
    "Gupta",
    "Haddad",
    "Hansen",
    "Hoffmann",
    "Ito",
    "Jansen",
    "Johnson",
    "Jones",
    "Kaya",
    "Kim",
    "Kowalski",
    "Kumar",
    "Lee",
    "Lefèvre",
    "Martin",
    "Mensah",
    "Meyer",
    "Müller",
    "Nakamura",
    "Nguyen",
    "Novák",
    "O'Brien",
    "Okafor",
    "Olsen",
    "Patel",
    "Petrov",
    "Popescu",
    "Rossi",
    "Sato",
    "Schmidt",
    "Silva",
    "Singh",
    "Smith",
    "Tanaka",
    "Taylor",
    "van den Berg",
    "Virtanen",
    "Wang",
    "Weber",
    "Williams",
    "Yılmaz",
    "Zhang",
];

/// All positions of authors, most frequent first.
const POSITIONS: &[&str] = &[
    "Founder & CEO",
    "Chief Executive Officer",
    "Head of Communications",
    "Talent Partner",
    "VP Marketing",
    "Co-founder",
    "Chief Technology Officer",
    "Investor",
    "Reporter",
    "Product Lead",
    "Head of People",
    "Partner, Early Stage",
    "Chief Financial Officer",
    "Managing Director",
    "Analyst",
    "Editor-in-Chief",
    "Directrice générale",
    "Geschäftsführerin",
];
