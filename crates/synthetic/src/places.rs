//! Countries and cities of companies, most frequent first.

use super::random::{Random, Zipf};

/// A country with cities.
#[derive(Clone, Copy)]
pub(super) struct Country {
    pub(super) name: &'static str,
    pub(super) cities: &'static [&'static str],
}

/// A random country, weighted by frequency.
pub(super) fn country(random: &mut Random) -> Country {
    COUNTRY_RANKS.pick(random, COUNTRIES)
}

const COUNTRY_RANKS: Zipf = Zipf::new(COUNTRIES.len() as u64, 0);

const fn of(name: &'static str, cities: &'static [&'static str]) -> Country {
    Country { name, cities }
}

/// All countries, most frequent first.
const COUNTRIES: &[Country] = &[
    of(
        "United States",
        &[
            "New York",
            "San Francisco",
            "Austin",
            "Boston",
            "Chicago",
            "Denver",
        ],
    ),
    of(
        "United Kingdom",
        &["London", "Manchester", "Edinburgh", "Bristol", "Leeds"],
    ),
    of(
        "Germany",
        &[
            "Berlin",
            "München",
            "Hamburg",
            "Köln",
            "Düsseldorf",
            "Frankfurt am Main",
        ],
    ),
    of(
        "France",
        &["Paris", "Lyon", "Toulouse", "Nantes", "Saint-Étienne"],
    ),
    of(
        "India",
        &["Bengaluru", "Mumbai", "New Delhi", "Hyderabad", "Pune"],
    ),
    of(
        "Canada",
        &["Toronto", "Montréal", "Vancouver", "Québec", "Calgary"],
    ),
    of(
        "Netherlands",
        &["Amsterdam", "Rotterdam", "Utrecht", "'s-Hertogenbosch"],
    ),
    of("Sweden", &["Stockholm", "Göteborg", "Malmö"]),
    of("Spain", &["Madrid", "Barcelona", "Málaga", "A Coruña"]),
    of("Switzerland", &["Zürich", "Genève", "Basel", "Lausanne"]),
    of("Israel", &["Tel Aviv", "Haifa", "Jerusalem"]),
    of("Australia", &["Sydney", "Melbourne", "Brisbane", "Perth"]),
    of("Singapore", &["Singapore"]),
    of("Japan", &["Tokyo", "Osaka", "Kyoto", "Fukuoka"]),
    of("China", &["Shanghai", "Beijing", "Shenzhen", "Hangzhou"]),
    of(
        "Brazil",
        &["São Paulo", "Rio de Janeiro", "Florianópolis", "Brasília"],
    ),
    of("Korea, Republic of", &["Seoul", "Busan", "Daejeon"]),
    of("Italy", &["Milano", "Roma", "Torino", "Forlì"]),
    of("Ireland", &["Dublin", "Cork", "Dún Laoghaire"]),
    of("Denmark", &["København", "Aarhus", "Odense"]),
    of("Norway", &["Oslo", "Bergen", "Tromsø"]),
    of("Finland", &["Helsinki", "Espoo", "Jyväskylä"]),
    of("Belgium", &["Brussels", "Antwerpen", "Liège"]),
    of("Austria", &["Wien", "Graz", "Linz"]),
    of("Poland", &["Warszawa", "Kraków", "Wrocław", "Łódź"]),
    of("Portugal", &["Lisboa", "Porto", "Évora"]),
    of("United Arab Emirates", &["Dubai", "Abu Dhabi"]),
    of("Mexico", &["Ciudad de México", "Monterrey", "Mérida"]),
    of("Estonia", &["Tallinn", "Tartu"]),
    of("Czechia", &["Praha", "Brno", "Plzeň"]),
    of("Taiwan, Province of China", &["Taipei", "Hsinchu"]),
    of("New Zealand", &["Auckland", "Wellington", "Whangārei"]),
    of("South Africa", &["Cape Town", "Johannesburg", "Durban"]),
    of("Nigeria", &["Lagos", "Abuja", "Ìbàdàn"]),
    of("Kenya", &["Nairobi", "Mombasa"]),
    of("Indonesia", &["Jakarta", "Bandung", "Surabaya"]),
    of("Viet Nam", &["Hồ Chí Minh", "Hà Nội", "Đà Nẵng"]),
    of("Thailand", &["Bangkok", "Chiang Mai"]),
    of("Malaysia", &["Kuala Lumpur", "Penang"]),
    of("Philippines", &["Manila", "Cebu", "Parañaque"]),
    of("Türkiye", &["İstanbul", "Ankara", "İzmir"]),
    of("Ukraine", &["Kyiv", "Lviv"]),
    of("Romania", &["București", "Cluj-Napoca", "Iași"]),
    of("Hungary", &["Budapest", "Győr"]),
    of("Greece", &["Athens", "Thessaloniki"]),
    of("Colombia", &["Bogotá", "Medellín"]),
    of("Chile", &["Santiago", "Valparaíso", "Concepción"]),
    of("Argentina", &["Buenos Aires", "Córdoba", "Rosario"]),
    of("Saudi Arabia", &["Riyadh", "Jeddah"]),
    of("Egypt", &["Cairo", "Alexandria"]),
    of("Hong Kong", &["Hong Kong"]),
    of("Lithuania", &["Vilnius", "Kaunas", "Šiauliai"]),
    of("Latvia", &["Rīga"]),
    of("Luxembourg", &["Luxembourg", "Esch-sur-Alzette"]),
    of("Bulgaria", &["Sofia", "Plovdiv"]),
    of("Croatia", &["Zagreb", "Split"]),
    of("Serbia", &["Beograd", "Niš"]),
    of("Slovenia", &["Ljubljana", "Maribor"]),
    of("Slovakia", &["Bratislava", "Košice"]),
    of("Iceland", &["Reykjavík"]),
    of("Cyprus", &["Nicosia", "Limassol"]),
    of("Malta", &["Valletta", "Żejtun"]),
    of("Morocco", &["Casablanca", "Rabat"]),
    of("Ghana", &["Accra", "Kumasi"]),
    of("Côte d'Ivoire", &["Abidjan", "Bouaké"]),
    of("Sénégal", &["Dakar", "Thiès"]),
    of("Rwanda", &["Kigali"]),
    of("Tanzania, United Republic of", &["Dar es Salaam"]),
    of("Pakistan", &["Karachi", "Lahore"]),
    of("Bangladesh", &["Dhaka"]),
    of("Sri Lanka", &["Colombo"]),
    of("Peru", &["Lima", "Arequipa"]),
    of("Uruguay", &["Montevideo"]),
    of("Costa Rica", &["San José"]),
    of("Panama", &["Panamá"]),
    of("Moldova, Republic of", &["Chișinău"]),
    of("Georgia", &["Tbilisi"]),
    of("Curaçao", &["Willemstad"]),
    of("Réunion", &["Saint-Denis"]),
    of("Bosnia & Herzegovina", &["Sarajevo"]),
    of("Åland Islands", &["Mariehamn"]),
    of("São Tomé and Príncipe", &["São Tomé"]),
];
