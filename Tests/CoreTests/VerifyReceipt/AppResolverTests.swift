import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeCore

@Suite("The app of a request that names none")
struct AppResolverTests {
    /// What the keys of several apps answered: `+` known, `-` unknown, `!` failed.
    static let cases = [
        ("a+ b-", "a"), ("a- b+", "b"), ("a+ b!", "a"), ("a! b+", "b"), ("a+", "a"), ("a+ b+", "400 bundleIdRequired"),
        ("a+ b+ c!", "400 bundleIdRequired"), ("a- b-", "404 transactionNotFound"),
        ("a- b!", "503 upstreamUnavailable"), ("a!", "503 upstreamUnavailable"), ("", "404 serverAPINotConfigured"),
    ]

    @Test("Only one that knows the id is the app, whatever the others answer", arguments: cases)
    func decision(answers: String, expected: String) throws {
        let found = try answers.split(separator: " ").map { text -> (app: BundleIdentifier, AppResolver.Knowledge) in
            let app = try #require(BundleIdentifier(rawValue: String(text.prefix(1))))
            return switch text.last {
            case "+": (app, .known)
            case "-": (app, .unknown)
            default: (app, .failed(UpstreamError(.deadline, at: "a", "b")))
            }
        }
        do {
            #expect(try AppResolver.decide(found.map { ($0.app, $0.1) }).rawValue == expected)
        } catch {
            #expect("\(error.code.httpStatus) \(error.code.rawValue)" == expected)
        }
    }
}
