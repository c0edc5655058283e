import Server
import Testing
import TestSupport

@Suite("Connections of the operations listener")
struct OperationsConnectionsTests {
    // T20: nobody needs a token to connect.
    @Test("Idle connections that would fill the operations listener do not keep a probe from a response")
    func probes() async throws {
        try await Proxy.serving { proxy in
            var idle: [RawConnection] = []
            for index in 0..<100 {
                let connection = try RawConnection(port: proxy.operationsPort)
                if index % 2 == 1 { try? await connection.send("GET /healthz HTTP/1.1\r\nHo") }
                idle.append(connection)
            }
            let probe = try RawConnection(port: proxy.operationsPort, timeout: 10)
            try await probe.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await probe.answer()?.status == 200)
            for connection in idle { connection.leave() }
        }
    }

    // T20
    @Test("An idle connection is closed ten times sooner than on the public listener")
    func idle() async throws {
        var timeouts = ConnectionTimeouts()
        timeouts.idle = .seconds(5)
        try await Proxy.serving(timeouts: timeouts) { proxy in
            let others = try proxy.connect()
            let connection = try RawConnection(port: proxy.operationsPort, timeout: 10)
            #expect(try await connection.remainder().isEmpty)
            try await others.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await others.answer()?.status == 200)
        }
    }

    /// An upload of which only the first byte is sent.
    private static func beginning(host: String) -> String {
        "POST /v1/receipts HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 100000\r\n\r\n{"
    }

    // T20
    @Test("Uploads that stall are as idle: a probe of the same client and of another one gets its response")
    func stalled() async throws {
        try await Proxy.serving { proxy in
            var uploads: [RawConnection] = []
            for _ in 0..<100 {
                let upload = try RawConnection(port: proxy.operationsPort)
                try? await upload.send(Self.beginning(host: "127.0.0.1"))
                uploads.append(upload)
            }
            for path in ["/healthz", "/readyz"] {
                let probe = try RawConnection(port: proxy.operationsPort, timeout: 10)
                try await probe.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await probe.answer()?.status == 200)
            }
            for upload in uploads { upload.leave() }
        }
    }

    // T20
    @Test("A request that needs a token and has none is refused before its body")
    func refused() async throws {
        try await Proxy.serving { proxy in
            for host in ["example.com", "127.0.0.1\r\nForwarded: for=a"] {
                let upload = try RawConnection(port: proxy.operationsPort, timeout: 10)
                try await upload.send(Self.beginning(host: host))
                #expect(try await upload.answer()?.status == 404)
                upload.leave()
            }
        }
    }

    @Test("When the last place is taken, the connection that is idle for the longest time leaves")
    func oldest() {
        var places = ConnectionPlaces<Int>(limit: 8)
        for id in 1...7 { #expect(places.open(id, by: id) == nil) }
        #expect(places.begin(1, isProbe: false) && places.begin(2, isProbe: false))
        places.end(2)
        let closed = (8...13).map { places.open($0, by: $0) }
        #expect(closed == [3, 4, 5, 6, 7, 2])
        places.close(9)
        #expect(places.open(14, by: 14) == nil && places.open(15, by: 15) == 8)
    }

    @Test("A client with more than its share loses its own idle connections only; its share of requests is in progress")
    func share() {
        var places = ConnectionPlaces<String>(limit: 8)
        #expect(places.share == 2 && places.open(1, by: "a") == nil)
        #expect(places.open(2, by: "b") == nil && places.open(3, by: "b") == nil)
        #expect(places.open(4, by: "b") == 2 && places.open(5, by: "b") == 3)
        #expect(places.begin(4, isProbe: false) && places.begin(5, isProbe: false))
        #expect(places.open(6, by: "b") == nil && !places.begin(6, isProbe: false))
        // A probe has a place beside them.
        #expect(places.open(7, by: "b") == nil && places.begin(7, isProbe: true))
        places.end(5)
        #expect(places.open(8, by: "b") == 5 && places.begin(8, isProbe: false) && places.open(9, by: "a") == nil)
    }

    @Test("Requests in progress leave places to probes, whoever sends them")
    func reserve() {
        var places = ConnectionPlaces<Int>(limit: 16)
        for id in 1...14 { #expect(places.open(id, by: id) == nil && places.begin(id, isProbe: false)) }
        #expect(places.reserve == 2 && places.open(15, by: 15) == nil && !places.begin(15, isProbe: false))
        for id in 16...20 {
            #expect(places.open(id, by: id) == nil && places.begin(id, isProbe: true))
            places.end(id)
            places.close(id)
        }
        places.end(1)
        #expect(places.open(21, by: 21) == nil && places.begin(21, isProbe: false))
    }
}
