//! The facets of a filter panel, which are counted beside each search.

use signaldex::Facet;

pub(crate) const PANEL: [Facet; 4] = [
    Facet::Category,
    Facet::Country,
    Facet::Industry,
    Facet::Size,
];
