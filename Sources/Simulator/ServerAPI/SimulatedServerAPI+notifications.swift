import StoreTypes

/// Test notifications, and the notifications of the past.
extension SimulatedServerAPI {
    private typealias Member = JSONValue.Member

    func testNotification(_ call: ServerAPICall) throws -> APIAnswer {
        let now = clock.now
        var random = SplitMix64(seed: UInt64(bitPattern: now.milliseconds &+ jobs.nextNumber() << 44))
        let token = "\(random.uuid())_\(now.milliseconds)"
        let payload = payload("TEST", nil, uuid: random.uuid(), data: call.envelope)
        jobs.add(.init(signedPayload: try mint.sign(payload), attemptDate: now), token, call.environment)
        return APIAnswer(body: .object(["testNotificationToken": .string(token)]))
    }

    func testNotificationStatus(_ call: ServerAPICall) throws -> APIAnswer {
        let token = call.values[0]
        guard token.utf8.count <= 256, token.split(separator: "_").count == 2 else { throw APIFailure(4_000_020) }
        guard let test = jobs.testNotification(token, call.environment) else { throw APIFailure(4_040_008) }
        return APIAnswer(
            body: .object([
                "signedPayload": .string(test.signedPayload),
                "firstSendAttemptResult": .string("SUCCESS"),
                "sendAttempts": Self.attempts(test.attemptDate),
            ]))
    }

    /// Twenty a page, oldest first; the token is the number of those before.
    func notificationHistory(_ call: ServerAPICall) throws -> APIAnswer {
        let document = try call.request.document()
        let period = try period(document, call)
        let (type, subtype) = (document["notificationType"]?.text, document["notificationSubtype"]?.text)
        if type == nil, subtype != nil { throw APIFailure(4_000_018) }
        var customers: [SimulatedCustomer]
        if let id = document["transactionId"] {
            guard type == nil else { throw APIFailure(4_000_019) }
            guard let text = id.text else { throw APIFailure(4_000_006) }
            try APIFailure.checkIdentifier(text)
            guard let finding = book.find(text, in: call.environment) else { throw APIFailure(4_040_010) }
            customers = [finding.customer]
        } else {
            customers = book.customers(in: call.environment)
        }
        // All were delivered at once.
        if document["onlyFailures"] == .bool(true) { customers = [] }
        let all = customers.flatMap(SimulatedNotification.all)
            .filter {
                period.contains($0.date) && (type ?? $0.type) == $0.type && (subtype ?? $0.subtype) == $0.subtype
            }
            .sorted { ($0.date, $0.transaction.transactionId) < ($1.date, $1.transaction.transactionId) }
        let before = try call.request.value("paginationToken").map { text throws(APIFailure) in
            guard let number = Int(text), (0...all.count).contains(number) else { throw APIFailure(4_000_014) }
            return number
        }
        let page = all.dropFirst(before ?? 0).prefix(HistoryQuery.pageSize)
        let next = page.endIndex < all.count ? page.endIndex : nil
        return APIAnswer(
            body: .object([
                "notificationHistory": .array(try page.map { try item($0, call) }),
                "hasMore": .bool(next != nil), "paginationToken": next.map { .string(String($0)) },
            ]))
    }

    /// Apple keeps 180 days in production, 30 in the sandbox; an end in the future means now.
    private func period(_ document: JSONValue, _ call: ServerAPICall) throws(APIFailure) -> Range<Timestamp> {
        guard let start = document["startDate"]?.integer, start >= 0 else { throw APIFailure(4_000_015) }
        guard let end = document["endDate"]?.integer, end >= 0 else { throw APIFailure(4_000_016) }
        guard start < end else { throw APIFailure(4_000_013) }
        let days: Int64 = call.environment == .production ? 180 : 30
        let oldest = clock.now.advanced(byMilliseconds: -days * CustomerBuilder.day)
        guard start >= oldest.milliseconds else { throw APIFailure(4_000_012) }
        return Timestamp(milliseconds: start)..<Timestamp(milliseconds: end)
    }

    private func item(_ event: SimulatedNotification, _ call: ServerAPICall) throws -> JSONValue {
        let tampering = call.fault?.tampering
        var members = call.envelope + [Member("bundleVersion", .string("42"))]
        let signed = try mint.transaction(event.transaction, call.environment, tampering)
        members.append(Member("signedTransactionInfo", .string(signed)))
        if let renewal = event.renewal, event.transaction.isAutoRenewable {
            members.append(
                Member("signedRenewalInfo", .string(try mint.renewal(renewal, call.environment, tampering))))
            members.append(Member("status", .number(renewal.status.rawValue)))
        }
        let payload = payload(event.type, event.subtype, uuid: event.uuid, data: members)
        return .object([
            "signedPayload": .string(try mint.sign(payload, tampering)), "sendAttempts": Self.attempts(event.date),
        ])
    }

    private func payload(_ type: String, _ subtype: String?, uuid: String, data: [Member]) -> JSONValue {
        .object([
            "notificationType": .string(type), "subtype": subtype.map(JSONValue.string),
            "notificationUUID": .string(uuid), "data": .object(data), "version": .string("2.0"),
            "signedDate": .number(clock.now.milliseconds),
        ])
    }

    private static func attempts(_ date: Timestamp) -> JSONValue {
        .array([
            .object(["attemptDate": .number(date.milliseconds), "sendAttemptResult": .string("SUCCESS")])
        ])
    }
}
