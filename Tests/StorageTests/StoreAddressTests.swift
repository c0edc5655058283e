import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Addresses of stores")
struct StoreAddressTests {
    /// Returns the parameters for libpq as `keyword=value` texts.
    private func parameters(_ text: String, isLibrary16: Bool = false, hasPassword: Bool = false) throws -> [String] {
        guard case .postgresql(let address) = try StoreAddress.parse(text) else { return [] }
        return address.parameters(isLibrary16: isLibrary16, hasPassword: hasPassword).map {
            "\($0.keyword)=\($0.value)"
        }
    }

    @Test("A file, none and a database are recognized")
    func forms() throws {
        #expect(try StoreAddress.parse("none") == nil)
        #expect(try StoreAddress.parse("sqlite:a.db") { "/x/\($0)" } == .sqlite(path: "/x/a.db"))
        let address = try #require(try StoreAddress.parse("postgres://u@h/d?sslmode=require"))
        #expect("\(address)" == "postgresql://u@h/d" && address.place == "postgresql://u@h/d" && address.path == nil)
        #expect("\(try #require(try StoreAddress.parse("sqlite:a.db")))" == "sqlite:a.db")
    }

    @Test("Several hosts, ports, IPv6 and percent-encoded texts become parameters of libpq")
    func hosts() throws {
        let text = "postgresql://a%40b@db-a,[2001:db8::1]:5433,%2Frun%2Fpostgresql/re%20ceipts?application_name=x%26y"
        #expect(
            try parameters(text) == [
                "host=db-a,2001:db8::1,/run/postgresql", "port=5432,5433,5432", "user=a@b", "dbname=re ceipts",
                "sslmode=verify-full", "sslrootcert=/etc/ssl/certs/ca-certificates.crt",
                "target_session_attrs=read-write", "application_name=x&y",
            ])
        #expect(
            "\(try #require(try StoreAddress.parse(text)))"
                == "postgresql://a@b@db-a,[2001:db8::1]:5433,/run/postgresql/re ceipts")
    }

    @Test("A server of this machine needs no TLS; libpq 16 uses the system's roots")
    func transport() throws {
        for host in ["localhost", "127.0.0.2:6432", "[::1]", "%2Ftmp"] {
            #expect(try parameters("postgresql://u@\(host)/d").contains("sslmode=prefer"), "\(host)")
        }
        #expect(try parameters("postgresql://u@db/d", isLibrary16: true).contains("sslrootcert=system"))
        #expect(
            try parameters("postgresql://u@db/d?sslmode=verify-ca", isLibrary16: true)
                .contains("sslrootcert=/etc/ssl/certs/ca-certificates.crt"))
        #expect(try !parameters("postgresql://u@db/d?sslmode=require").contains { $0.hasPrefix("sslrootcert") })
        #expect(try parameters("postgresql://u@db/d?sslrootcert=%2Fca.pem").contains("sslrootcert=/ca.pem"))
    }

    // T35.
    @Test("A password goes only to a server that proves who it is, from libpq 16 on, unless the address says otherwise")
    func requiredAuthentication() throws {
        func required(_ text: String, isLibrary16: Bool = true, hasPassword: Bool = true) throws -> [String] {
            try parameters("postgresql://u@\(text)", isLibrary16: isLibrary16, hasPassword: hasPassword)
                .filter { $0.hasPrefix("require_auth") }
        }
        for text in ["127.0.0.1/d", "localhost/d", "%2Ftmp,localhost/d", "db/d?sslmode=require"] {
            #expect(try required(text) == ["require_auth=scram-sha-256"], "\(text)")
            #expect(try required(text, isLibrary16: false) == [] && required(text, hasPassword: false) == [], "\(text)")
        }
        for text in ["db/d", "db/d?sslmode=verify-ca", "%2Ftmp/d"] { #expect(try required(text) == [], "\(text)") }
        #expect(try required("localhost/d?require_auth=md5") == ["require_auth=md5"])
    }

    static let passwordReason =
        "the address contains a password; remove it and name a file in database.password instead"
    static let refused: [String: String] = [
        "mysql://canary": "expected sqlite:PATH, postgresql://USER@HOST/DATABASE, or none",
        "sqlite:": "expected sqlite:PATH, postgresql://USER@HOST/DATABASE, or none",
        "postgresql://u:canary@h/d": passwordReason, "postgresql://u:@h/d": passwordReason,
        "postgresql://u:canary@x@h/d": passwordReason, "postgresql://u@h/d?password=canary": passwordReason,
        "postgresql://h/d": "the address names no user, for example postgresql://bridge@db/receipts",
        "postgresql://u@h": "the address names no database, for example postgresql://bridge@db/receipts",
        "postgresql://u@/d": "a host is missing, for example postgresql://bridge@db/receipts",
        "postgresql://u@a,,b/d": "a host is missing, for example postgresql://bridge@db/receipts",
        "postgresql://u@[::1/d": "an IPv6 address has no closing bracket",
        "postgresql://u@::1/d": "a host is missing, for example postgresql://bridge@db/receipts",
        "postgresql://u@h:0/d": "a port is not a number from 1 to 65535; an IPv6 address needs brackets",
        "postgresql://u@h/d%zz": "a percent sign is not followed by two hexadecimal digits of a byte",
        "postgresql://u@h/d%00": "a percent sign is not followed by two hexadecimal digits of a byte",
        "postgresql://u@h/d%ff": "the percent-encoded bytes are not UTF-8",
        "postgresql://u@h/d?sslmode=prefer":
            "sslmode: prefer does not protect a connection to another machine; use verify-full or require",
        "postgresql://u@localhost,h/d?sslmode=disable":
            "sslmode: disable does not protect a connection to another machine; use verify-full or require",
        "postgresql://u@h/d?connect_timeout=soon": "connect_timeout: expected a whole number",
        "postgresql://u@h/d?channel_binding=x": "channel_binding: expected one of disable, prefer, require",
        "postgresql://u@h/d?sslmode=require&sslmode=require": "sslmode: expected one value",
        "postgresql://u@h/d?canary=1":
            "a key after ? is unknown; known are sslmode, sslrootcert, sslcert, sslkey, connect_timeout, "
            + "target_session_attrs, application_name, options, tcp_user_timeout, keepalives, keepalives_idle, "
            + "keepalives_interval, keepalives_count, channel_binding, require_auth",
    ]

    // T35
    @Test("An address that cannot be used is refused without repeating it", arguments: refused)
    func refusal(text: String, reason: String) {
        let error = #expect(throws: StoreAddressError.self) { try StoreAddress.parse(text) }
        #expect(error?.reason == reason)
        #expect(error?.description.contains("canary") == false)
    }
}
