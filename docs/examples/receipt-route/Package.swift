// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "receipt-route",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "receipt-bridge", path: "../../..", traits: []),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "receipt-route",
            dependencies: [
                .product(name: "AppStoreReceipts", package: "receipt-bridge"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ]
)
