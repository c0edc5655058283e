import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeResponses

/// Fuzzes the reader of verifyReceipt responses, and everything that reads by it: conversion, comparison, archive.
enum DocumentTarget {
    private static let converter = DocumentConverter(tables: .bundled)

    static func run(_ bytes: [UInt8]) {
        if let camelCase = try? converter.camelCase(bytes) {
            Rendered.isJSON(camelCase)
            require((try? converter.ignoredKeys(in: bytes)) != nil, "what is converted has a list of ignored keys")
            if let snakeCase = try? converter.snakeCase(camelCase) {
                Rendered.isJSON(snakeCase)
                require(
                    (try? converter.rewrittenShapes(in: snakeCase)) != nil, "what is written can be read")
            }
        }
        _ = try? converter.snakeCase(bytes)
        _ = try? ComparedAnswer(verifyReceipt: bytes)
        guard let response = try? ResponseDocument(bytes) else { return }
        let (states, purchases) = (response.revocationStates, response.purchases)
        require(states.count <= purchases.count, "each purchase has at most one state")
        _ = (response.renewals, response.lookupKeys, response.bundleId, response.environment, response.hasNewestFirst)
        if let parts = try? response.parts() {
            require(parts.snapshot.count <= response.snapshotRows.count, "what is read strictly is read leniently")
            require(parts.latest?.count ?? 0 <= response.latestRows.count, "what is read strictly is read leniently")
        }
        restore(bytes)
    }

    /// Checks that a response that was archived is restored. Its texts keep their bytes, whatever these are.
    private static func restore(_ bytes: [UInt8]) {
        guard String(validating: bytes, as: UTF8.self) != nil else { return }
        let answer = Answer(status: .valid, body: bytes)
        guard let archived = ArchivedResponse(answer, to: []) else { return }
        guard let restored = RestoredResponse(archived, keptAt: Rendered.now) else {
            return require(false, "what was archived is restored")
        }
        if let answer = restored.answer(requestDate: Rendered.now, submitted: [], revocations: RevocationIndex()) {
            Rendered.isJSON(answer.body)
        }
    }
}
