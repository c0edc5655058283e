import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Simulated App Store over HTTP")
struct SimulatedStoreTests {
    private func question(_ receipt: IssuedReceipt) -> JSONValue {
        JSONValue(["receipt-data": receipt.base64, "password": SimulatedApp.first.sharedSecret])
    }

    @Test("verifyReceipt is served on every path and for every content type, and requests are logged without secrets")
    func paths() async throws {
        try await serving(customers: 4) { store, client in
            #expect(try await client.send("GET", "/healthz").status == 200)
            let receipt = try #require(store.receipts.first)
            for (path, status) in [
                ("/verifyReceipt", 0), ("/verifyReceipt/", 0), ("/WebObjects/MZFinance.woa/wa/verifyReceipt", 0),
                ("/production/verifyReceipt", 0), ("/sandbox/verifyReceipt", 21008),
            ] {
                let answer = try await client.send("POST", path, question(receipt), type: "text/plain")
                #expect(answer.status == 200)
                #expect(answer.json["status"]?.integer == Int64(status), "\(path)")
            }
            let get = try await client.send("GET", "/verifyReceipt")
            #expect(get.body == Array("{\"status\":21000}".utf8))
            #expect(store.requests.total == 5)
            #expect(store.requests.count("verifyReceipt.automatic") == 3)
            #expect(store.requests.count("verifyReceipt.sandbox") == 1)
            let log = try await client.send("GET", "/requests").json
            #expect(log["last"]?.elements?.last?["hasPassword"]?.flag == true)
            #expect(log["last"]?.elements?.last?["contentType"]?.text == "text/plain")
            #expect(!String(decoding: log.bytes, as: UTF8.self).contains(SimulatedApp.first.sharedSecret))
        }
    }

    @Test("A body of more than 3 MiB gets 413")
    func tooLarge() async throws {
        try await serving(customers: 4) { _, client in
            let body = JSONValue.string(String(repeating: "A", count: 3_145_730))
            let answer = try await client.send("POST", "/verifyReceipt", body)
            #expect(answer.status == 413)
        }
    }

    @Test("Faults apply as often as requested; afterwards responses are normal again")
    func faults() async throws {
        try await serving(customers: 4) { store, client in
            let receipt = try #require(store.receipts.first)
            func fault(_ members: KeyValuePairs<String, JSONValue?>) async throws -> Int {
                try await client.send("POST", "/faults", .object(members)).status
            }
            func ask() async throws -> RawConnection.Answer {
                try await client.send("POST", "/production/verifyReceipt", question(receipt))
            }
            #expect(try await fault(["kind": .string("status"), "status": .number(503), "times": .number(2)]) == 201)
            #expect(try await ask().status == 503)
            #expect(try await ask().status == 503)
            #expect(try await ask().status == 200)
            #expect(try await fault(["kind": .string("html"), "times": .number(1)]) == 201)
            #expect(try await ask().body.starts(with: Array("<html>".utf8)))
            #expect(try await fault(["kind": .string("status21002"), "times": .number(1)]) == 201)
            #expect(try await ask().body == Array("{\"status\":21002}".utf8))
            #expect(
                try await fault(["kind": .string("delay"), "milliseconds": .number(200), "times": .number(1)]) == 201)
            let start = ContinuousClock.now
            #expect(try await ask().status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            #expect(try await fault(["kind": .string("nonsense")]) == 400)
            #expect(try await fault(["kind": .string("status"), "environment": .string("sandbox")]) == 201)
            #expect(try await ask().status == 200)
            #expect(try await client.send("POST", "/sandbox/verifyReceipt", question(receipt)).status == 503)
            #expect(try await client.send("DELETE", "/faults").status == 204)
            #expect(try await client.send("POST", "/sandbox/verifyReceipt", question(receipt)).status == 200)
        }
    }

    @Test(
        "A fault is rejected if a member is unknown, has another type, or is out of range",
        arguments: [
            #"{"kind":"html","time":1}"#, #"{"kind":"html","times":"1"}"#, #"{"kind":"html","times":0}"#,
            #"{"kind":"html","times":-1}"#, #"{"kind":"html","times":1.5}"#, #"{"kind":"html","times":1,"times":2}"#,
            #"{"kind":"html","status":503}"#, #"{"kind":"status","status":"503"}"#, #"{"kind":"delay","seconds":1}"#,
            #"{"kind":"delay","milliseconds":"500"}"#, #"{"kind":"error","errorCode":4040010,"retryAfter":17}"#,
            #"{"kind":"body","body":{}}"#, #"{"kind":"html","endpoint":5}"#, #"{"kind":"html","environment":true}"#,
            #"{"kind":"budget","limit":1,"times":1}"#, #"{"kind":"budget","limit":1,"seconds":"60"}"#, "[]",
        ])
    func strictFaults(body: String) async throws {
        try await serving(customers: 4) { store, client in
            let document = try JSONValue(reading: Array(body.utf8))
            #expect(try await client.send("POST", "/faults", document).status == 400)
            #expect(store.faults.consume(endpoint: "verifyReceipt", environment: .production) == nil)
        }
    }

    @Test(
        "Faults close the connection without a response or in the middle of one, of both services",
        arguments: ["reset", "truncate"])
    func broken(kind: String) async throws {
        try await serving(customers: 4) { store, client in
            let receipt = try #require(store.receipts.first)
            let history = "/production/inApps/v2/history/\(try store.purchase().transactionId)"
            for (method, path, body) in [
                ("POST", "/verifyReceipt", question(receipt)), ("GET", history, nil),
            ] as [(String, String, JSONValue?)] {
                for endpoint in ["verifyReceipt", "serverAPI"] {
                    store.faults.add(
                        try #require(SimulatedFault(JSONValue(["kind": kind, "endpoint": endpoint]))))
                }
                await #expect(throws: RawConnection.Failure.self) { try await client.send(method, path, body) }
                store.faults.removeAll()
                #expect(try await client.send(method, path, body).status == 200)
            }
        }
    }

    @Test("A stopped store releases its port")
    func stopping() async throws {
        let store = try SharedSimulator.store(customers: 1)
        let port = try await store.start()
        await store.stop()
        #expect(try await store.start(port: port) == port)
        await store.stop()
    }
}
