/// T30: A fuzz target: the code that runs for each input. Nothing that it calls may trap, hang or use unlimited
/// memory; further conditions are checked by ``require(_:_:)``.
struct FuzzTarget: Sendable {
    let name: String
    let body: @Sendable ([UInt8]) -> Void

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "receipt", body: ReceiptTargets.receipt),
        FuzzTarget(name: "attributes", body: ReceiptTargets.attributes),
        FuzzTarget(name: "purchaseInfo", body: ReceiptTargets.purchaseInfo),
        FuzzTarget(name: "base64", body: Base64Target.run),
        FuzzTarget(name: "certificate", body: CertificateTarget.run),
        FuzzTarget(name: "jws", body: SignedTextTargets.text),
        FuzzTarget(name: "claims", body: SignedTextTargets.claims),
        FuzzTarget(name: "answer", body: AnswerTarget.run),
        FuzzTarget(name: "request", body: RequestTarget.run),
        FuzzTarget(name: "json", body: JSONTarget.run),
        FuzzTarget(name: "rows", body: RowsTarget.run),
    ]

    /// The target named by the first argument.
    static let chosen = CommandLine.arguments.dropFirst().first.flatMap { name in all.first { $0.name == name } }
}

/// Terminates the process if a condition is false, so that libFuzzer keeps the input.
func require(_ holds: Bool, _ promise: @autoclosure () -> String) {
    if !holds { fatalError("violated condition: \(promise())") }
}
