//! Serves the stylesheet, the script and the icon, which are embedded in the binary.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use backstory_text::sha256_hex;

use crate::problem::ApiError;

/// An embedded file with a hash of its content.
struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
    hash: String,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        embedded(
            "style.css",
            "text/css; charset=utf-8",
            include_str!("../../assets/style.css"),
        ),
        embedded(
            "app.js",
            "text/javascript; charset=utf-8",
            include_str!("../../assets/app.js"),
        ),
        embedded("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ]
});

fn embedded(name: &'static str, kind: &'static str, content: &'static str) -> Asset {
    Asset {
        name,
        kind,
        content,
        hash: sha256_hex(content)[..16].to_owned(),
    }
}

/// Returns a URL that contains the content hash, so that browsers may cache the file forever.
pub(super) fn url(name: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or_else(String::new, |asset| {
        format!("/assets/{}-{}", asset.hash, asset.name)
    })
}

/// Serves a file by its hashed or by its plain name.
pub(super) async fn asset(Path(requested): Path<String>, headers: HeaderMap) -> Response {
    let by_hash = requested.split_once('-');
    let found = ASSETS.iter().find(|asset| match by_hash {
        Some((hash, name)) => asset.name == name && asset.hash == hash,
        None => asset.name == requested,
    });
    let Some(asset) = found else {
        return ApiError::missing("no such asset").into_response();
    };
    let tag = format!("\"{}\"", asset.hash);
    let caching = match by_hash {
        Some(_) => "public, max-age=31536000, immutable",
        None => "no-cache",
    };
    let is_cached = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|cached| cached == tag.as_str());
    let common = [(header::ETAG, tag), (header::CACHE_CONTROL, caching.to_owned())];
    match is_cached {
        true => (StatusCode::NOT_MODIFIED, common).into_response(),
        false => (common, [(header::CONTENT_TYPE, asset.kind)], asset.content).into_response(),
    }
}
