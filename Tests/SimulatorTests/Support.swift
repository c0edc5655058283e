import Foundation
import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

extension SharedSimulator {
    /// A shared store with all kinds of customers, for tests that only read.
    static let allKinds = Result { try store(customers: 90) }
}

/// The keys of an object's members, in order.
func keys(_ value: JSONValue?) -> [String] {
    if case .object(let members)? = value { members.map(\.key) } else { [] }
}

/// Expects an object to have these members, among others; `nil` for those that it must not have.
func expect(
    _ object: JSONValue?, has members: KeyValuePairs<String, (any JSONRepresentable)?>,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for (key, value) in members { #expect(object?[key] == value?.json, "\(key)", sourceLocation: sourceLocation) }
}

/// Returns the payload of a JWS, without verifying it.
func decoded(_ jws: JSONValue?) throws -> JSONValue {
    let parts = try #require(jws?.text).split(separator: ".")
    #expect(parts.count == 3)
    return try JSONValue(reading: try #require(Base64.decodeURLSafe(parts[1])))
}

extension SimulatedCustomer {
    /// Expects dates in order, ids of the environment, and renewal states that agree with the periods.
    func expectConsistency(at now: Timestamp = SharedSimulator.noon) throws {
        #expect(transactions.map(\.purchaseDate) == transactions.map(\.purchaseDate).sorted(), "\(kind)")
        for transaction in transactions {
            let id = try #require(TransactionIdentifier(rawValue: transaction.transactionId))
            #expect(id.isSandbox == (environment == .sandbox))
        }
        for renewal in renewals {
            let newest = try #require(
                transactions.last { $0.originalTransactionId == renewal.originalTransactionId })
            let isRunning = try #require(newest.expiresDate) > now && newest.revocation == nil
            #expect((renewal.status == .active) == isRunning, "\(kind)")
            #expect((renewal.status == .revoked) == (newest.revocation != nil), "\(kind)")
            #expect((renewal.status == .gracePeriod) == (renewal.gracePeriodExpiresDate.map { $0 > now } ?? false))
            #expect(renewal.productId == newest.product.productId)
        }
    }
}

/// A client of a simulated store's port. Each request has a token of the account.
struct Client {
    let store: SimulatedStore
    let port: Int

    func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, type: String = "application/json"
    ) async throws -> RawConnection.Answer {
        let headers = [
            "Host: localhost", "Content-Type: \(type)", "Authorization: Bearer \(try store.credentials.token())",
        ]
        return try await RawConnection.send(
            RawConnection.request(method, path, headers, body?.bytes ?? []), to: port)
    }
}

/// Runs `work` while a new store serves its port.
func serving(customers: Int, _ work: (SimulatedStore, Client) async throws -> Void) async throws {
    let store = try SharedSimulator.store(customers: customers)
    try await store.serving { port in try await work(store, Client(store: store, port: port)) }
}

extension TemporaryFolder {
    func lines(_ name: String) throws -> [JSONValue] {
        try read(name).split(separator: 0x0A).map { try JSONValue(reading: Array($0)) }
    }

    func writeCertificates(_ name: String, _ certificates: [[UInt8]]) throws -> String {
        let text = certificates.map {
            "-----BEGIN CERTIFICATE-----\n"
                + ReceiptEncodingVariant.lines(Base64.encode($0), width: 64, separator: "\n")
                + "\n-----END CERTIFICATE-----\n"
        }.joined()
        try write(name, text)
        return name
    }

    /// Returns what `openssl` says about a certificate. The form of names is given, because the default of OpenSSL 3.0
    /// is `CN = Name`, and that of 3.2 and later `CN=Name`.
    func text(ofCertificate file: String) throws -> String {
        let output = try openssl("x509", "-in", file, "-noout", "-text", "-nameopt", "RFC2253").output
        return String(decoding: output, as: UTF8.self)
    }

    func openssl(_ arguments: String...) throws -> (status: Int32, output: [UInt8], errors: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = url
        let output = Pipe()
        let errors = try write("stderr-\(UUID().uuidString)", "")
        process.standardOutput = output
        process.standardError = FileHandle(forWritingAtPath: errors)
        try process.run()
        let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        return (process.terminationStatus, bytes, try String(contentsOfFile: errors, encoding: .utf8))
    }
}
