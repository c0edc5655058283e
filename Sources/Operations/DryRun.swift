package import AppStoreClients
import Base
import Transport

/// The output of `--dry-run`: the request that a command would send.
///
///     { "dryRun": true, "method": "PUT", "url": "https://…", "body": {…} | null }
package enum DryRun {
    package static func line(_ preview: RequestPreview) -> [UInt8] {
        JSONWriter.object {
            $0.member("dryRun", true)
            $0.member("method", preview.method.rawValue)
            $0.member("url", preview.url)
            $0.member("body", json: preview.body)
        }
    }
}
