import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// The rules of an app are about a customer, not about what a client presents of that customer: each rule, each source,
/// and each form, made from the customers of a simulated world.
// T28, T32, T37
@Suite("Rules of an app in each form that a customer can present")
struct CustomerRulesTests {
    /// What a customer can present.
    private struct Form {
        let name: String
        let text: String
        /// The purchases that it lists itself.
        let listed: [SimulatedTransaction]
        var kind = Kind.receipt

        enum Kind { case receipt, signed }
    }

    /// Where a response is from.
    private enum Source: CaseIterable {
        case api, stored, receipt, apple, archive

        var answer: [AnswerSource] {
            switch self {
            case .api: [.api, .receipt]
            case .stored: [.stored, .api, .receipt]
            case .receipt: [.receipt]
            case .apple, .archive: [.apple]
            }
        }

        var isStored: Bool { self == .stored || self == .archive }
        /// Whether responses are rendered from the records of the customer.
        var hasRecords: Bool { self == .api || self == .stored }

        /// Apple sees receipts only.
        func takes(_ form: Form) -> Bool {
            switch self {
            case .api, .stored, .receipt: true
            case .apple, .archive: form.kind == .receipt
            }
        }
    }

    /// A simulated App Store, and the forms of some customers.
    private struct Stage {
        let appStore: SimulatedStore
        let world: ServerAPIWorld
        let folder: TemporaryFolder
        let customers: [(customer: SimulatedCustomer, forms: [Form])]

        init(_ appStore: SimulatedStore, _ world: ServerAPIWorld, _ kinds: [CustomerKind]) throws {
            (self.appStore, self.world) = (appStore, world)
            folder = try TemporaryFolder()
            customers = try appStore.world.customers.filter { kinds.contains($0.kind) }.map { customer in
                (customer, try Self.forms(of: customer, appStore))
            }
        }

        /// Its receipts, its signed transactions and its app transaction.
        private static func forms(of customer: SimulatedCustomer, _ appStore: SimulatedStore) throws -> [Form] {
            // A receipt from before the first purchase belongs to no customer.
            var forms = appStore.receipts(of: customer).filter {
                !$0.transactions.isEmpty || customer.transactions.isEmpty
            }.map { Form(name: $0.id, text: $0.base64, listed: $0.transactions) }
            // The first and the last period of each subscription, and every other purchase.
            let purchases = Dictionary(grouping: customer.transactions, by: \.originalTransactionId)
            for (_, transactions) in purchases.sorted(by: { $0.key < $1.key }) {
                for transaction in Set([transactions.first, transactions.last].compactMap(\.self)) {
                    let signed = try appStore.pki.jwsSigner.jws(
                        payload: transaction.row(customer.environment, signedDate: SharedSimulator.noon))
                    forms.append(
                        Form(name: transaction.transactionId, text: signed, listed: [transaction], kind: .signed))
                }
            }
            if let signed = try appStore.signedAppTransaction(of: customer) {
                forms.append(Form(name: "app transaction", text: signed, listed: [], kind: .signed))
            }
            return forms
        }

        /// The forms that a source answers, with their customers.
        func forms(for source: Source) -> [(customer: SimulatedCustomer, form: Form)] {
            customers.flatMap { customer, forms in forms.filter(source.takes).map { (customer, $0) } }
        }

        /// Runs `work` with a service whose responses are from a source.
        func asking(
            _ source: Source, _ change: (inout AppConfiguration) -> Void,
            _ work: (VerifyReceiptService) async throws -> Void
        ) async throws {
            guard source.isStored else { return try await work(graph(source, nil, change).verifyReceipt) }
            let store = try SQLiteStore(path: try await filled(source))
            if source == .archive { appStore.faults.add(SimulatedFault(.status(503), endpoint: "verifyReceipt")) }
            try await work(graph(source, store, change).verifyReceipt)
            appStore.faults.removeAll()
            await store.close()
        }

        private func graph(
            _ source: Source, _ store: (any Store)?, _ change: (inout AppConfiguration) -> Void
        ) throws -> ServiceGraph {
            try world.graph(source.answer, store: store) {
                if source == .receipt { $1.serverAPI = nil }
                change(&$1)
            }
        }

        /// The path of a new store with all responses, which were given without a rule and to no user.
        private func filled(_ source: Source) async throws -> String {
            let path = folder.path("\(source).sqlite")
            if !FileManager.default.fileExists(atPath: path) {
                let store = try SQLiteStore(path: path)
                let graph = try graph(source, store) { _ in }
                for (_, form) in forms(for: source) { _ = await CustomerRulesTests.ask(graph.verifyReceipt, form) }
                await graph.finishWriting()
                await store.close()
            }
            let copy = folder.path("\(UInt64.random(in: 1 ... .max)).sqlite")
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            return copy
        }

        /// The purchases that the response to a form shows without a password: for a receipt those that it lists, and
        /// for the others what is known of the customer.
        func unprotected(_ form: Form, of customer: SimulatedCustomer, from source: Source) -> [SimulatedTransaction] {
            form.kind == .receipt || source == .receipt
                ? form.listed : form.listed + customer.transactions.filter { $0.product.kind != .consumable }
        }
    }

    private static let kinds = TestSize.pick(
        debug: [CustomerKind.activeSubscription, .oldActiveSubscription, .consumables, .noPurchases],
        release: [
            .activeSubscription, .oldActiveSubscription, .consumables, .noPurchases, .severalSubscriptions,
            .nonConsumable,
            .bothStyles, .refundedNonConsumable,
        ])

    /// What ``Source/allCases`` answered with.
    private static let answers = ["api api", "stored stored", "receipt receipt", "apple apple", "archive stored"]

    private static func staged(_ kinds: [CustomerKind] = kinds, _ work: (Stage) async throws -> Void) async throws {
        try await ServerAPIWorld.asking(customers: 84) { appStore, world in
            try await work(try Stage(appStore, world, kinds))
        }
    }

    private struct Reply {
        let status: Int
        let source: AnswerSource
        /// The ids in its rows, original ones too.
        let ids: Set<TransactionIdentifier>
        let showsSubscription: Bool

        var isAnswered: Bool { [0, 21006].contains(status) }
        /// A refusal shows nothing.
        var isEmpty: Bool { ids.isEmpty && !showsSubscription }
    }

    private static func ask(
        _ service: VerifyReceiptService, _ form: Form, password: String? = SimulatedApp.first.sharedSecret,
        user: String? = nil
    ) async -> Reply {
        var options = VerifyReceiptService.RequestOptions()
        options.user = user.map { Redacted($0) }
        let result = await service.answer(
            body: Question.body(form.text, password: password), route: .auto, requestOptions: options)
        let response = try? ResponseDocument(result.answer.body)
        let keys = response?.lookupKeys ?? CustomerIdentifiers([])
        return Reply(
            status: result.answer.status.rawValue, source: result.source,
            ids: Set(keys.originalTransactionIds + keys.transactionIds),
            showsSubscription: response.map { response in
                !response.renewals.isEmpty || response.purchases.contains { $0.expires != nil }
            } ?? false)
    }

    // T37
    @Test("Without the right password no response shows a subscription, and a customer without one is answered")
    func password() async throws {
        var cells = 0
        try await Self.staged { stage in
            // An archived response is only for the password that it was archived with.
            for source in Source.allCases where source != .archive {
                for (rule, password) in [
                    (AppConfiguration.ClientPassword.required, nil), (.required, "wrong"), (.optional, "wrong"),
                ] {
                    try await stage.asking(source) {
                        $0.clientPassword = rule
                    } _: { service in
                        for (customer, form) in stage.forms(for: source) {
                            let shown = stage.unprotected(form, of: customer, from: source)
                            let isRefused = shown.contains(where: \.isAutoRenewable)
                            // The third response comes from a cache, if there is one.
                            for _ in 0..<(form.kind == .receipt ? 3 : 1) {
                                let reply = await Self.ask(service, form, password: password)
                                #expect(
                                    reply.status == (isRefused ? 21004 : 0),
                                    "\(source) \(rule) \(customer.kind) \(form.name)")
                                #expect(!reply.showsSubscription, "\(source) \(rule) \(customer.kind) \(form.name)")
                                if isRefused { #expect(reply.isEmpty) }
                                cells += 1
                            }
                        }
                    }
                }
            }
        }
        print("password: \(cells) cells")
        #expect(cells > 200)
    }

    // T28
    @Test(
        "A customer whose purchases another user presented in one form is refused in every form, and not the first user"
    )
    func replay() async throws {
        var (cells, refused) = (0, 0)
        var answers: Set<String> = []
        try await Self.staged { stage in
            for source in Source.allCases {
                let most = stage.customers.map { $0.forms.filter(source.takes).count }.max() ?? 0
                for first in Set(TestSize.pick(debug: [0, most / 2, most - 1], release: Array(0..<most))) {
                    try await stage.asking(source) {
                        $0.replay = .refuse
                    } _: { service in
                        for (customer, forms) in stage.customers {
                            let forms = forms.filter(source.takes)
                            guard !forms.isEmpty else { continue }
                            let theirs = await Self.ask(service, forms[min(first, forms.count - 1)], user: "alice")
                            #expect(theirs.isAnswered, "\(source) \(customer.kind)")
                            answers.insert("\(source) \(theirs.source)")
                            for form in forms {
                                let name: Comment =
                                    "\(source) \(customer.kind) \(forms[min(first, forms.count - 1)].name) \(form.name)"
                                let copy = await Self.ask(service, form, user: "mallory")
                                #expect(copy.ids.isDisjoint(with: theirs.ids), name)
                                #expect(copy.isAnswered || copy.status == 21003 && copy.isEmpty, name)
                                // Records are those of the customer: no form of it is another user's.
                                if source.hasRecords {
                                    #expect(copy.isAnswered == customer.transactions.isEmpty, name)
                                }
                                if copy.status == 21003 { refused += 1 }
                                cells += 1
                            }
                            guard source.hasRecords else { continue }
                            for form in forms {
                                #expect(
                                    await Self.ask(service, form, user: "alice").isAnswered,
                                    "\(customer.kind) \(form.name)")
                                cells += 1
                            }
                        }
                    }
                }
            }
        }
        print("replay: \(cells) cells, \(refused) refused")
        #expect(cells > 500 && refused > cells / 4)
        #expect(answers.isSuperset(of: Self.answers), "\(answers)")
    }

    // T32
    @Test("A tester is answered in every form, whichever purchase names the tester, and every other customer in none")
    func testers() async throws {
        var cells = 0
        try await Self.staged { stage in
            let sandbox = stage.customers.filter {
                $0.customer.environment == .sandbox && !$0.customer.transactions.isEmpty
            }
            for (index, (tester, _)) in sandbox.enumerated() {
                let other = sandbox[(index + 1) % sandbox.count].customer
                let names = [
                    tester.transactions.first?.transactionId, tester.transactions.last?.originalTransactionId,
                    tester.transactions.compactMap(\.appAccountToken).first, tester.appTransactionId,
                ]
                for name in Set(names.compactMap(\.self)) {
                    for source in [Source.api, .apple] {
                        try await stage.asking(source) {
                            $0.testers = SandboxAllowlist([name])
                        } _: { service in
                            for (customer, forms) in sandbox where [tester.id, other.id].contains(customer.id) {
                                for form in forms {
                                    let reply = await Self.ask(service, form)
                                    #expect(
                                        reply.isAnswered == (customer.id == tester.id)
                                            && (reply.isAnswered || reply.status == 21003),
                                        "\(source) \(tester.kind) \(name) \(customer.kind) \(form.name) \(reply.status)"
                                    )
                                    cells += 1
                                }
                            }
                        }
                    }
                }
            }
            for source in Source.allCases {
                try await stage.asking(source) {
                    $0.sandbox = .deny
                } _: { service in
                    for (customer, form) in stage.forms(for: source) {
                        let reply = await Self.ask(service, form)
                        let isDenied = customer.environment == .sandbox
                        #expect(
                            reply.isAnswered != isDenied && (!isDenied || reply.status == 21003),
                            "\(source) \(customer.kind) \(form.name) \(reply.status)")
                        cells += 1
                    }
                }
            }
        }
        print("sandbox: \(cells) cells")
        #expect(cells > 200)
    }
}
