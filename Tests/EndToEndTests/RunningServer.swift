import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// A server as its clients see it.
extension Running {
    /// Starts a server, and returns it when it listens.
    static func serve(
        _ words: String..., in folder: TemporaryFolder, environment: [String: String] = [:]
    ) async throws -> Running {
        let server = try Running(["serve", "--listen", "127.0.0.1:0"] + words, in: folder, environment: environment)
        _ = try await server.port()
        return server
    }

    /// Sends one request on a new connection.
    func ask(_ request: [UInt8]) async throws -> RawConnection.Answer {
        try await RawConnection.send(request, to: try await port())
    }

    func get(_ path: String, _ headers: [String] = []) async throws -> RawConnection.Answer {
        try await ask(RawConnection.request("GET", path, ["Host: localhost"] + headers))
    }

    func verify(
        _ receipt: String, password: String = SimulatedApp.first.sharedSecret
    ) async throws -> RawConnection.Answer {
        try await ask(RawConnection.post("/verifyReceipt", Question.body(receipt, password: password)))
    }

    /// Posts a notification, and expects that it is accepted.
    func notify(_ body: [UInt8]) async throws {
        #expect(try await ask(RawConnection.post("/v1/notifications", body)).status == 200)
    }

    /// Sends SIGHUP, and waits for a new line of the log with this text.
    func reload(until text: String) async {
        let before = errors.components(separatedBy: text).count
        hangUp()
        #expect(await eventually { errors.components(separatedBy: text).count > before }, "\(errors)")
    }

    #if os(Linux)
        var openFiles: Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/fd").count) ?? 0
        }
    #endif

    /// Asks about the receipts, one after the other.
    func answers(to receipts: some Sequence<String>) async throws -> [StoredAnswer] {
        let connection = try RawConnection(port: try await port())
        var answers: [StoredAnswer] = []
        for receipt in receipts {
            let body = Question.body(receipt, password: SimulatedApp.first.sharedSecret)
            answers.append(StoredAnswer(try await connection.ask(RawConnection.post("/verifyReceipt", body))))
        }
        return answers
    }
}

/// A response to a receipt: its source, and its members without the date of the request.
struct StoredAnswer {
    let source: String
    let members: [String: String]

    init(_ answer: RawConnection.Answer) {
        source = answer.header("Receipt-Bridge-Source") ?? ""
        var values: [String: String] = [:]
        if case .object(let members) = answer.json {
            for member in members {
                guard member.key == "receipt", case .object(let inner) = member.value else {
                    values[member.key] = String(decoding: member.value.bytes, as: UTF8.self)
                    continue
                }
                for member in inner where !member.key.hasPrefix("request_date") {
                    values["receipt.\(member.key)"] = String(decoding: member.value.bytes, as: UTF8.self)
                }
            }
        }
        members = values
    }

    /// Expects that responses have the same members as others to the same receipts, from whatever source.
    static func expect(_ answers: [StoredAnswer], equal expected: [StoredAnswer]) {
        var unequal: [String] = []
        for (index, (answer, expected)) in zip(answers, expected).enumerated() {
            let fields = Set(answer.members.keys).union(expected.members.keys).sorted()
            unequal += fields.filter { answer.members[$0] != expected.members[$0] }.map { field in
                let (found, wanted) = (answer.members[field] ?? "nothing", expected.members[field] ?? "nothing")
                return "\(index) \(answer.source) \(field)\n  \(found)\n  \(wanted)"
            }
        }
        #expect(unequal == [] && answers.count == expected.count)
    }
}
