// swift-tools-version: 6.2
import PackageDescription

// Settings of this package's targets. Dependencies have their own settings. Warnings are errors in builds of the
// Makefile only: a warning of a later compiler must not break a package that uses the library.
let strict: [SwiftSetting] =
    ["ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"].map { .enableUpcomingFeature($0) }
    + (Context.environment["WARNINGS_AS_ERRORS"] == "1" ? [.treatAllWarnings(as: .error)] : [])

/// The commit for `--version`, which the Makefile passes; empty outside git. It is hexadecimal, with `-dirty` if files
/// were changed.
let commit =
    Context.environment["BUILD_COMMIT"].flatMap { name in
        name.count <= 80 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? name : nil
    } ?? ""

/// The packages, their versions, which are exact, and the products that targets use.
let packages = [
    ("hummingbird-project/hummingbird", "2.28.1", "Hummingbird HummingbirdCore"),
    ("apple/swift-argument-parser", "1.8.2", "ArgumentParser"),
    ("apple/swift-collections", "1.6.0", "DequeModule HeapModule"),
    ("apple/swift-http-types", "1.8.0", "HTTPTypes"),
    ("apple/swift-log", "1.16.2", "InMemoryLogging Logging"),
    ("apple/swift-nio", "2.101.2", "NIOCore NIOHTTP1 NIOPosix NIOTLS"),
    ("apple/swift-nio-extras", "1.35.2", "NIOHTTPTypes"),
    ("apple/swift-nio-ssl", "2.37.6", "NIOSSL"),
    ("swift-server/swift-service-lifecycle", "2.13.0", "ServiceLifecycle UnixSignals"),
    ("groue/GRDB.swift", "7.10.0", "GRDB GRDBSQLite"),
    ("jpsim/Yams", "6.2.2", "Yams"),
]

/// Packages that only other packages need, with a product of each. Their versions are exact too, so that every build of
/// a commit compiles the same sources. `Package.resolved` would do it too, but its commit ids differ between mirrors.
let transitivePackages = [
    ("swift-server/async-http-client", "1.37.0", "AsyncHTTPClient"),
    ("apple/swift-algorithms", "1.2.1", "Algorithms"),
    ("apple/swift-asn1", "1.7.4", "SwiftASN1"),
    ("apple/swift-async-algorithms", "1.1.4", "AsyncAlgorithms"),
    ("apple/swift-atomics", "1.3.0", "Atomics"),
    ("apple/swift-certificates", "1.21.1", "X509"),
    ("apple/swift-configuration", "1.4.0", "Configuration"),
    ("apple/swift-crypto", "4.5.2", "Crypto"),
    ("apple/swift-distributed-tracing", "1.7.3", "Tracing"),
    ("apple/swift-http-structured-headers", "1.7.0", "StructuredFieldValues"),
    ("apple/swift-metrics", "2.13.0", "Metrics"),
    ("apple/swift-nio-http2", "1.46.0", "NIOHTTP2"),
    ("apple/swift-nio-transport-services", "1.28.0", "NIOTransportServices"),
    ("apple/swift-numerics", "1.1.1", "Numerics"),
    ("apple/swift-service-context", "1.5.1", "ServiceContextModule"),
    ("apple/swift-system", "1.8.1", "SystemPackage"),
]

/// The name of a package in dependencies: the last part of its path.
func identity(_ path: String) -> String { String(path.split(separator: "/")[1]) }

/// Files that are embedded in the binary, by target. `Mappings/` contains only these and its README.
let resources = [
    "Cryptography": [
        "Roots/AppleIncRootCertificate", "Roots/AppleRootCAG2", "Roots/AppleRootCAG3",
        "Intermediates/AppleiTunesStoreCA2009", "Intermediates/WWDR2008", "Intermediates/WWDR2013",
        "Intermediates/WWDRG5", "Intermediates/WWDRG7", "Intermediates/WWDRG8",
    ].map { "\($0).cer" },
    "Responses": [
        "answer", "app-receipt", "flat-transaction", "in-app", "notifications", "renewal", "transaction",
        "transaction-receipt",
    ].map { "../../Mappings/\($0).json" },
    "Comparison": [
        "Reports/Components/report.css", "Reports/Comparison/comparison.css", "Reports/Comparison/comparison.js",
        "Reports/Customers/customers.css",
    ],
    "Server": ["../../docs/openapi.json", "Status/status.css", "Status/status.js"],
]

/// The name of the target in a folder. SwiftPM refuses two targets of one name among all packages of a build, whether
/// they are used or not, so all but the products have a prefix.
func name(_ folder: Substring) -> String {
    ["AppStoreReceipts", "AppStoreReceiptsTesting", "receipt-bridge"].contains(folder) || folder.hasSuffix("Tests")
        ? String(folder) : "ReceiptBridge\(folder)"
}

/// The targets in folders of `parent`, one a line: the folder, then what it uses, which are products of ``packages`` or
/// folders of targets.
func targets(in parent: String, _ lines: String) -> [Target] {
    lines.split(separator: "\n").map { line in
        let (folder, uses) = (line.split(separator: " ")[0], line.split(separator: " ").dropFirst())
        let dependencies = uses.map { used -> Target.Dependency in
            guard let package = packages.first(where: { $0.2.split(separator: " ").contains(used) }) else {
                return .byName(name: name(used))
            }
            return .product(name: String(used), package: identity(package.0), condition: .when(traits: ["Server"]))
        }
        let (target, path) = (name(folder), "\(parent)/\(folder)")
        if folder.hasSuffix("Tests") {
            return .testTarget(name: target, dependencies: dependencies, path: path, swiftSettings: strict)
        }
        return folder == "receipt-bridge"
            ? .executableTarget(name: target, dependencies: dependencies, path: path, swiftSettings: strict)
            : .target(
                name: target, dependencies: dependencies, path: path,
                exclude: folder == "Library" ? ["receipt_bridge.c", "receipt_bridge.h"] : [],
                resources: resources[String(folder)]?.map { .embedInCode($0) }, swiftSettings: strict)
    }
}

/// A C library: a module map and typed wrappers for variadic calls, nothing else.
func c(_ folder: Substring, _ pkgConfig: String? = nil, _ package: String? = nil) -> Target {
    .systemLibrary(
        name: name(folder), path: "Sources/\(folder)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

let package = Package(
    name: "receipt-bridge",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "receipt-bridge", targets: ["receipt-bridge"]),
        .library(name: "AppStoreReceipts", targets: ["AppStoreReceipts"]),
        // For tests of packages that use the library.
        .library(name: "AppStoreReceiptsTesting", targets: ["AppStoreReceiptsTesting"]),
    ],
    // Without it, packages that use only the library neither resolve nor fetch the dependencies of the server.
    traits: [.trait(name: "Server"), .default(enabledTraits: ["Server"])],
    // Hummingbird's default trait would need one more package.
    dependencies: (packages + transitivePackages).map { path, version, _ in
        .package(
            url: "https://github.com/\(path)", exact: Version(stringLiteral: version),
            traits: path.hasSuffix("/hummingbird") ? [] : [.defaults])
    },
    targets: [
        // Only this target is compiled again if the commit changes.
        .target(
            name: "ReceiptBridgeCBuild", path: "Sources/CBuild",
            cSettings: [.define("BUILD_COMMIT", to: "\"\(commit)\"")]),
        c("COpenSSL", "libcrypto", "libssl-dev"),
        c("CCurl", "libcurl", "libcurl4-openssl-dev"),
        c("CMalloc"),
    ]
)

// What everything uses; from Apple's bytes to authentic values, the calls to Apple, and responses; the libraries (only
// AppStoreReceipts and AppStoreReceiptsTesting have a public interface; Library is linked by
// Tests/Scripts/package/library.py); SQLite and PostgreSQL, whose libpq is loaded when a store is opened;
// configuration, request path and notifications; the entrances (HTTP, rows, commands); the simulated App Store.
package.targets += targets(
    in: "Sources",
    """
    Base
    Cryptography Base COpenSSL
    Transport Base CCurl DequeModule HeapModule
    Receipts Base Cryptography
    AppStore Base Cryptography Receipts Transport
    Responses Base Receipts
    AppStoreReceipts Base Cryptography Receipts Responses
    AppStoreReceiptsTesting Base Cryptography
    Library Base Cryptography Receipts Responses
    Storage Base Cryptography GRDB GRDBSQLite
    Core AppStore Base Cryptography Receipts Responses Storage Transport DequeModule Logging ServiceLifecycle Yams
    Comparison AppStore Base Cryptography Receipts Responses Storage
    Server AppStore Base Comparison Core Cryptography Receipts Responses Storage Transport Hummingbird \
    HummingbirdCore HTTPTypes Logging NIOCore NIOHTTP1 NIOHTTPTypes NIOSSL NIOTLS ServiceLifecycle UnixSignals
    Batch AppStore Base Comparison Core Cryptography Receipts Responses Storage GRDB GRDBSQLite
    Administration AppStore Base Batch Core Cryptography Receipts Responses Server Storage Transport
    Simulator AppStoreReceiptsTesting Base Cryptography Transport Hummingbird HTTPTypes Logging NIOCore ServiceLifecycle
    receipt-bridge Administration AppStore Base Batch CBuild CMalloc Comparison Core Cryptography Receipts Responses \
    Server Simulator Storage Transport ArgumentParser Logging ServiceLifecycle UnixSignals
    """)
// Tests: what they share, one target per source target, and end-to-end tests.
package.targets += targets(
    in: "Tests",
    """
    CTestSupport COpenSSL
    TestSupport AppStore Base Core CTestSupport Cryptography Receipts Simulator Transport Logging
    HTTPTestServer
    StorageTestSupport Base Cryptography Storage
    BaseTests Base TestSupport
    CryptographyTests Base COpenSSL Cryptography Simulator TestSupport
    TransportTests HTTPTestServer TestSupport Transport
    ReceiptsTests Base COpenSSL Cryptography Receipts Simulator TestSupport
    AppStoreTests AppStore Base Cryptography HTTPTestServer Receipts Simulator TestSupport Transport
    ResponsesTests AppStore Base Receipts Responses TestSupport
    AppStoreReceiptsTests AppStoreReceipts AppStoreReceiptsTesting Receipts Responses Simulator TestSupport
    LibraryTests Base Library Simulator TestSupport
    StorageTests Administration Base Core Cryptography Responses Server Simulator Storage StorageTestSupport \
    TestSupport Transport GRDB
    CoreTests AppStore Base Comparison Core Cryptography Receipts Responses Server Simulator Storage \
    StorageTestSupport TestSupport Transport Logging InMemoryLogging GRDB ServiceLifecycle
    ComparisonTests Base Comparison Cryptography Receipts Simulator TestSupport
    ServerTests Administration AppStore Base Comparison Core Cryptography HTTPTestServer Receipts Responses Server \
    Simulator Storage StorageTestSupport TestSupport Transport Logging ServiceLifecycle
    BatchTests AppStore Base Batch Comparison Core Cryptography Receipts Responses Simulator Storage TestSupport \
    Transport Logging GRDB
    AdministrationTests Administration AppStore Base Core Cryptography Receipts Simulator Storage TestSupport \
    Transport
    SimulatorTests Base Cryptography HTTPTestServer Simulator TestSupport
    EndToEndTests Base Cryptography HTTPTestServer Receipts Responses Simulator Storage TestSupport Transport receipt-bridge GRDB
    """)

// SwiftPM warns about a package that no target uses. A dependency for a platform that does not exist compiles nothing.
package.targets.first { $0.name == "receipt-bridge" }!.dependencies += transitivePackages.map { path, _, product in
    .product(
        name: product, package: identity(path), condition: .when(platforms: [.custom("none")], traits: ["Server"]))
}

// For `make fuzz` only: compiles this package's targets with libFuzzer's counters and AddressSanitizer, and adds the
// program that runs the fuzz targets. Testable imports are enabled, because some parsers are otherwise called only
// after a signature check.
if Context.environment["FUZZ"] == "1" {
    let instrumented = ["-sanitize=fuzzer,address"]
    for target in package.targets where target.type == .regular {
        target.swiftSettings = strict + [.unsafeFlags(instrumented + ["-enable-testing"])]
    }
    let fuzzing = targets(in: "Tests", "Fuzzing AppStore Base Batch Core Comparison Cryptography Receipts Responses")[0]
    package.targets.append(
        .executableTarget(
            name: "receipt-bridge-fuzz", dependencies: fuzzing.dependencies,
            path: "Tests/Fuzzing", exclude: ["Corpus", "seeds.py"],
            swiftSettings: strict + [
                .enableExperimentalFeature("Extern"), .unsafeFlags(instrumented + ["-parse-as-library"]),
            ],
            linkerSettings: [.unsafeFlags(instrumented + ["-use-ld=lld"])]))
}
