//! White-box tests of `endpoint.rs`.

use super::*;

#[test]
fn the_table_has_the_order_of_the_endpoints() {
    for (index, known) in ENDPOINTS.iter().enumerate() {
        assert_eq!(known.endpoint as usize, index, "{}", known.path);
    }
}

#[test]
fn paths_lead_to_their_endpoints_only() {
    for known in &ENDPOINTS {
        let path = known.path.replace(['{', '}'], "");
        let (found, segment) = Endpoint::of(&path).expect("an endpoint");
        assert_eq!(found.endpoint, known.endpoint, "{path}");
        assert!(known.path.contains(&format!("{{{segment}}}")) || segment.is_empty());
        for other in [
            format!("{path}x/y"),
            format!("/{path}"),
            format!("{path}/x/"),
        ] {
            assert!(Endpoint::of(&other).is_none(), "{other}");
        }
    }
    for path in [
        "",
        "/docs/",
        "/api/v1/signals/",
        "/api/v1/companies/",
        "/healthzz",
        "/mcp/",
    ] {
        assert!(Endpoint::of(path).is_none(), "{path}");
    }
}
