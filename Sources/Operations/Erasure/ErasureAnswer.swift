package import Ledger
import Rendering
import StoreTypes

/// What became of a customer's data, as one line of JSON: what went, what stayed and why, and what this cannot reach.
package enum ErasureAnswer {
    /// What is not in the store.
    package static let notCovered = [
        "results, reports and progress files of migrate and compare", "files written by refunds sweep --to", "logs",
        "copies of the store", "what forwarding delivered, and what the App Store holds",
    ]

    /// - Parameter isRewritten: whether the file holds no more copies of what went.
    package static func line(_ erasure: Erasure, isDryRun: Bool, isRewritten: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("dryRun", isDryRun)
            writer.key("found")
            writer.beginArray()
            for scope in erasure.scopes {
                writer.beginObject()
                writer.member("bundleId", scope.bundleId.rawValue)
                writer.member("environment", scope.environment.rawValue)
                writer.endObject()
            }
            writer.endArray()
            writer.member("erased", erasure.kinds)
            writer.member("waitingDeliveries", Int64(erasure.waitingDeliveries))
            writer.key("kept")
            writer.beginArray()
            if erasure.keptRevocations > 0 {
                writer.beginObject()
                writer.member("kind", "revocations")
                writer.member("count", Int64(erasure.keptRevocations))
                writer.member(
                    "reason", "--keep-revocations: id and date, so that a refunded purchase is not honoured again")
                writer.endObject()
            }
            writer.endArray()
            writer.member("rewritten", isRewritten)
            writer.key("notCovered")
            writer.beginArray()
            for place in notCovered { writer.value(place) }
            writer.endArray()
        }
    }

    /// What was old, of everybody.
    package static func line(expired kinds: [Erasure.Kind], isDryRun: Bool, isRewritten: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("dryRun", isDryRun)
            writer.member("expired", kinds)
            writer.member("rewritten", isRewritten)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ kinds: [Erasure.Kind]) {
        key(name)
        beginObject()
        for kind in kinds { member(kind.name, Int64(kind.count)) }
        endObject()
    }
}
