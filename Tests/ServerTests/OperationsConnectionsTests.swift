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

    @Test("When all places are taken, the connection that is idle for the longest time leaves")
    func oldest() {
        var places = ConnectionPlaces<Int>(limit: 8)
        for id in 1...7 { #expect(places.open(id, by: id) == nil) }
        places.setBusy(true, 1)
        places.setBusy(true, 2)
        places.setBusy(false, 2)
        let closed = (8...13).map { places.open($0, by: $0) }
        #expect(closed == [3, 4, 5, 6, 7, 2])
        places.close(9)
        #expect(places.open(14, by: 14) == nil && places.open(15, by: 15) == 8)
    }

    @Test(
        "A client with more than its share loses its own connections only, and gets no more while all of them are busy")
    func share() {
        var places = ConnectionPlaces<String>(limit: 8)
        #expect(places.share == 2 && places.open(1, by: "a") == nil)
        #expect(places.open(2, by: "b") == nil && places.open(3, by: "b") == nil)
        #expect(places.open(4, by: "b") == 2 && places.open(5, by: "b") == 3)
        places.setBusy(true, 4)
        places.setBusy(true, 5)
        #expect(places.open(6, by: "b") == 6)
        places.setBusy(false, 5)
        #expect(places.open(7, by: "b") == 5 && places.open(8, by: "a") == nil)
    }
}
