// swift-tools-version: 6.2
import PackageDescription

// Settings of this package's targets. Dependencies have their own settings. Warnings are errors in builds of the
// Makefile only: a warning of a later compiler must not break a package that uses the library.
let strict: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (Context.environment["WARNINGS_AS_ERRORS"] == "1" ? [.treatAllWarnings(as: .error)] : [])

/// The commit for `--version`, which the Makefile passes; empty outside git. It is hexadecimal, with `-dirty` if files
/// were changed.
let commit =
    Context.environment["BUILD_COMMIT"].flatMap { name in
        name.count <= 80 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? name : nil
    } ?? ""

/// The field tables that are embedded in the binary. `Mappings/` contains only these and its README.
let mappings = [
    "answer", "app-receipt", "flat-transaction", "in-app", "notifications", "renewal", "transaction",
    "transaction-receipt",
]

/// Packages that only other packages need, with a product of each. Their versions are exact too, so that every build of
/// a commit compiles the same sources. `Package.resolved` would do it too, but its commit ids differ between mirrors.
/// A dependency for a platform that does not exist counts as a use and compiles nothing.
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

/// Apple's certificates that are embedded in the binary.
let certificates: [Resource] = [
    .embedInCode("Roots/AppleIncRootCertificate.cer"),
    .embedInCode("Roots/AppleRootCAG2.cer"),
    .embedInCode("Roots/AppleRootCAG3.cer"),
    .embedInCode("Intermediates/AppleiTunesStoreCA2009.cer"),
    .embedInCode("Intermediates/WWDR2008.cer"),
    .embedInCode("Intermediates/WWDR2013.cer"),
    .embedInCode("Intermediates/WWDRG5.cer"),
    .embedInCode("Intermediates/WWDRG7.cer"),
    .embedInCode("Intermediates/WWDRG8.cer"),
]

/// The products that targets use, by package.
let products = [
    "GRDB.swift": "GRDB GRDBSQLite",
    "hummingbird": "Hummingbird HummingbirdCore",
    "swift-argument-parser": "ArgumentParser",
    "swift-collections": "DequeModule HeapModule",
    "swift-http-types": "HTTPTypes",
    "swift-log": "InMemoryLogging Logging",
    "swift-nio": "NIOCore NIOHTTP1 NIOPosix NIOTLS",
    "swift-nio-extras": "NIOHTTPTypes",
    "swift-nio-ssl": "NIOSSL",
    "swift-service-lifecycle": "ServiceLifecycle UnixSignals",
    "Yams": "Yams",
]

/// The dependencies with these names, which are separated by spaces: products of ``products``, or targets of this
/// package.
func dependencies(_ names: String) -> [Target.Dependency] {
    names.split(separator: " ").map { name in
        let package = products.first { $0.value.split(separator: " ").contains(name) }?.key
        return package.map { .product(name: String(name), package: $0, condition: .when(traits: ["Server"])) }
            ?? .byName(name: String(name))
    }
}

/// A target of Sources, or of the path, that uses the targets and products with these names.
func target(
    _ name: String, _ uses: String = "", path: String? = nil, exclude: [String] = [], resources: [Resource]? = nil
) -> Target {
    .target(
        name: name, dependencies: dependencies(uses), path: path, exclude: exclude, resources: resources,
        swiftSettings: strict)
}

func executable(_ name: String, _ uses: String) -> Target {
    .executableTarget(name: name, dependencies: dependencies(uses), swiftSettings: strict)
}

func tests(_ name: String, _ uses: String) -> Target {
    .testTarget(name: name, dependencies: dependencies(uses), swiftSettings: strict)
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
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        // Only this target is compiled again if the commit changes.
        .target(name: "CBuild", cSettings: [.define("BUILD_COMMIT", to: "\"\(commit)\"")]),
        // C libraries: module maps and typed wrappers for variadic calls, nothing else.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Base targets, which do not depend on the request path.
        target("Base"),
        target("Telemetry", "Base Logging"),
        target("Cryptography", "Base COpenSSL", resources: certificates),
        target("Transport", "Base CCurl DequeModule HeapModule"),
        target("Storage", "Base Cryptography Telemetry GRDB GRDBSQLite"),
        // A client of PostgreSQL. It loads libpq when a store is opened, so that nothing else needs the library.
        target("PostgreSQLClient", "Base"),
        target("PostgreSQLStorage", "Base Cryptography PostgreSQLClient Storage"),
        // Steps of the request path, in order.
        target("ReceiptDecoding", "Base Cryptography"),
        target("AppStorePayloads", "Base Cryptography"),
        target("AppStoreClients", "AppStorePayloads Base Cryptography Telemetry Transport"),
        target(
            "Responses",
            """
            AppStorePayloads Base ReceiptDecoding
            """, resources: mappings.map { .embedInCode("../../Mappings/\($0).json") }),
        target("ReceiptInspection", "AppStorePayloads Base Cryptography ReceiptDecoding"),
        // The library for other languages, which Tests/Scripts/package/library.py links from the objects of a build.
        target(
            "ReceiptLibrary", "AppStorePayloads Base Cryptography ReceiptDecoding ReceiptInspection Responses",
            exclude: ["receipt_bridge.c", "receipt_bridge.h"]),
        // The libraries for other packages, which are the only targets with a public interface.
        target("AppStoreReceipts", "AppStorePayloads Base Cryptography ReceiptDecoding Responses"),
        target("AppStoreReceiptsTesting", "Base Cryptography"),
        // The request path, the entry points that use it, and the simulated App Store.
        target("Comparison", "AppStoreClients AppStorePayloads Base Cryptography Responses"),
        target("BridgeConfiguration", "AppStoreClients Base Cryptography Responses Storage Transport Yams"),
        target(
            "VerifyReceipt",
            """
            AppStoreClients AppStorePayloads Base BridgeConfiguration Cryptography ReceiptDecoding ReceiptInspection \
            Responses Storage Telemetry Transport DequeModule Logging
            """),
        target(
            "Notifications",
            """
            AppStoreClients AppStorePayloads Base BridgeConfiguration Cryptography Operations ReceiptDecoding \
            Responses Storage Telemetry Transport VerifyReceipt Logging ServiceLifecycle
            """),
        target(
            "Operations", "AppStoreClients AppStorePayloads Base Responses Storage Telemetry Transport VerifyReceipt"),
        target(
            "Server",
            """
            AppStoreClients AppStorePayloads Base BridgeConfiguration Comparison Cryptography Notifications \
            Operations Reports Responses Storage Telemetry Transport VerifyReceipt DequeModule \
            Hummingbird HummingbirdCore HTTPTypes Logging NIOCore NIOHTTP1 NIOHTTPTypes NIOSSL NIOTLS ServiceLifecycle
            """,
            resources: [
                .embedInCode("../../docs/openapi.json"), .embedInCode("Status/status.css"),
                .embedInCode("Status/status.js"),
            ]),
        target(
            "Reports", "AppStorePayloads Base Comparison Cryptography ReceiptDecoding Responses Storage",
            resources: [
                .embedInCode("Components/report.css"), .embedInCode("Comparison/comparison.css"),
                .embedInCode("Comparison/comparison.js"), .embedInCode("Customers/customers.css"),
            ]),
        target(
            "Batch",
            """
            AppStoreClients AppStorePayloads Base Comparison Cryptography ReceiptDecoding ReceiptInspection Reports \
            Responses Storage VerifyReceipt GRDB GRDBSQLite
            """),
        target(
            "Administration",
            """
            AppStoreClients AppStorePayloads Base Batch BridgeConfiguration Cryptography Notifications Operations \
            PostgreSQLClient PostgreSQLStorage ReceiptDecoding ReceiptInspection Responses Server Storage Transport \
            VerifyReceipt
            """),
        target(
            "Simulator",
            """
            AppStoreReceiptsTesting Base Cryptography Transport Hummingbird HTTPTypes Logging NIOCore \
            ServiceLifecycle
            """),
        executable(
            "receipt-bridge",
            """
            Administration AppStoreClients AppStorePayloads Base Batch BridgeConfiguration CBuild CMalloc Comparison \
            Cryptography Notifications Operations ReceiptDecoding ReceiptInspection Reports Responses \
            Server Simulator Storage Telemetry Transport VerifyReceipt ArgumentParser Logging ServiceLifecycle UnixSignals
            """),
        // Tests: one target per source target, and end-to-end tests.
        .target(name: "CTestSupport", dependencies: ["COpenSSL"], path: "Tests/CTestSupport"),
        target(
            "TestSupport",
            """
            AppStoreClients Base BridgeConfiguration CTestSupport Cryptography ReceiptDecoding Simulator Logging
            """, path: "Tests/TestSupport"),
        tests("BaseTests", "Base TestSupport"),
        tests("TelemetryTests", "Base Telemetry TestSupport Logging"),
        tests("CryptographyTests", "Base COpenSSL Cryptography Simulator TestSupport"),
        target("HTTPTestServer", path: "Tests/HTTPTestServer"),
        tests("TransportTests", "HTTPTestServer TestSupport Transport"),
        tests("ReceiptDecodingTests", "Base COpenSSL Cryptography ReceiptDecoding Simulator TestSupport"),
        tests(
            "AppStoreClientsTests",
            """
            AppStoreClients AppStorePayloads Base Cryptography HTTPTestServer Simulator Telemetry TestSupport Transport
            """),
        tests("ResponsesTests", "AppStoreClients AppStorePayloads Base ReceiptDecoding Responses TestSupport"),
        tests(
            "AppStoreReceiptsTests",
            """
            AppStorePayloads AppStoreReceipts AppStoreReceiptsTesting ReceiptDecoding Responses Simulator TestSupport
            """),
        tests("ComparisonTests", "AppStorePayloads Base Comparison Cryptography Reports Simulator TestSupport"),
        tests(
            "BatchTests",
            """
            AppStoreClients AppStorePayloads Base Batch BridgeConfiguration Comparison Cryptography ReceiptInspection \
            Reports Responses Simulator Storage TestSupport Transport VerifyReceipt Logging GRDB
            """),
        tests(
            "BridgeConfigurationTests",
            """
            AppStoreClients AppStorePayloads Base BridgeConfiguration Comparison Responses Server Simulator Storage \
            TestSupport Transport
            """),
        tests(
            "VerifyReceiptTests",
            """
            AppStoreClients AppStorePayloads Base BridgeConfiguration Comparison Cryptography Notifications \
            ReceiptDecoding ReceiptInspection Responses Server Simulator Storage Telemetry TestSupport Transport \
            VerifyReceipt Logging InMemoryLogging GRDB ServiceLifecycle
            """),
        tests(
            "ServerTests",
            """
            Administration AppStoreClients AppStorePayloads Base BridgeConfiguration Cryptography HTTPTestServer \
            Notifications Operations ReceiptDecoding Reports Responses Server Simulator Storage Telemetry TestSupport \
            Transport VerifyReceipt Logging ServiceLifecycle
            """),
        tests("ReceiptLibraryTests", "Base ReceiptLibrary Simulator TestSupport"),
        tests("SimulatorTests", "Base Cryptography HTTPTestServer Simulator TestSupport"),
        target("StorageTestSupport", "Base Cryptography Storage", path: "Tests/StorageTestSupport"),
        tests(
            "StorageTests",
            """
            Administration Base BridgeConfiguration Cryptography Notifications Operations PostgreSQLClient \
            PostgreSQLStorage Responses Server Simulator Storage StorageTestSupport TestSupport Transport \
            VerifyReceipt GRDB
            """),
        tests("PostgreSQLClientTests", "PostgreSQLClient"),
        tests(
            "AdministrationTests",
            """
            Administration AppStoreClients AppStorePayloads Base Cryptography Notifications Operations Simulator \
            Storage Transport
            """),
        tests(
            "EndToEndTests",
            """
            Base Cryptography HTTPTestServer PostgreSQLClient Responses Simulator TestSupport Transport \
            receipt-bridge GRDB
            """),
    ]
)

// SwiftPM warns about a package that no target uses. A dependency for a platform that does not exist counts as a use
// and compiles nothing.
for (path, version, product) in transitivePackages {
    package.dependencies.append(.package(url: "https://github.com/\(path)", exact: Version(stringLiteral: version)))
    package.targets.first { $0.name == "receipt-bridge" }?.dependencies.append(
        .product(
            name: product, package: String(path.split(separator: "/")[1]),
            condition: .when(platforms: [.custom("none")], traits: ["Server"])))
}

// SwiftPM refuses two targets of one name among all packages, whether they are used or not. If this package is a
// dependency by URL, only the targets of the library exist, so that others may have targets named Server or Storage.
let folders = Context.packageDirectory.split(separator: "/").suffix(3)
if [[".build", "checkouts"], ["SourcePackages", "checkouts"]].contains(folders.dropLast()) {
    let library = [
        "AppStorePayloads", "AppStoreReceipts", "AppStoreReceiptsTesting", "Base", "COpenSSL", "Cryptography",
        "ReceiptDecoding", "Responses",
    ]
    package.targets.removeAll { !library.contains($0.name) }
    package.products.removeAll { !library.contains($0.name) }
}

// For `make fuzz` only: compiles this package's targets with libFuzzer's counters and AddressSanitizer, and adds the
// program that runs the fuzz targets. Testable imports are enabled, because some parsers are otherwise called only
// after a signature check.
if Context.environment["FUZZ"] == "1" {
    let instrumented = ["-sanitize=fuzzer,address"]
    for target in package.targets where target.type == .regular {
        target.swiftSettings = strict + [.unsafeFlags(instrumented + ["-enable-testing"])]
    }
    package.targets.append(
        .executableTarget(
            name: "receipt-bridge-fuzz",
            dependencies: [
                "Base", "Cryptography", "ReceiptDecoding", "AppStorePayloads", "AppStoreClients",
                "Responses", "Comparison", "ReceiptInspection", "VerifyReceipt", "Notifications", "Batch",
            ],
            path: "Tests/Fuzzing", exclude: ["Corpus", "seeds.py"],
            swiftSettings: strict + [
                .enableExperimentalFeature("Extern"), .unsafeFlags(instrumented + ["-parse-as-library"]),
            ],
            linkerSettings: [.unsafeFlags(instrumented + ["-use-ld=lld"])]))
}
