import ReceiptBridgeBase
import Synchronization

/// Endpoints for test notifications and the notification history.
extension SimulatedServerAPI {
    /// Handles Request a Test Notification. If no target was ever set, the notification counts as delivered.
    func testNotification(_ call: ServerAPICall) throws -> APIAnswer {
        let now = call.instant
        var random = SplitMix64(seed: UInt64(bitPattern: now.milliseconds &+ jobs.withLock { $0.nextNumber() } << 44))
        let token = "\(random.uuid())_\(now.milliseconds)"
        let notification = SimulatedNotification(
            uuid: random.uuid(), type: "TEST", environment: call.environment, date: now)
        guard let index = outbox.postTest(notification) else { throw APIFailure(4_040_007) }
        jobs.withLock { $0.testNotifications[.init(name: token, environment: call.environment)] = index }
        return APIAnswer(["testNotificationToken": token])
    }

    /// Handles Get Test Notification Status. The notification is not found until its first attempt has ended.
    func testNotificationStatus(_ call: ServerAPICall) throws -> APIAnswer {
        let token = call.values[0]
        guard token.utf8.count <= 256, token.split(separator: "_").count == 2 else { throw APIFailure(4_000_020) }
        let key = ServerAPIJobs.Key(name: token, environment: call.environment)
        guard let entry = jobs.withLock({ $0.testNotifications[key] }).flatMap({ outbox.log[$0] }),
            let first = entry.attempts.first
        else { throw APIFailure(4_040_008) }
        return APIAnswer([
            "signedPayload": try issuer.sign(entry.notification, call.fault),
            "firstSendAttemptResult": first.result.rawValue,
            "sendAttempts": entry.attempts.map(\.document),
        ])
    }

    /// 20 notifications a page, oldest first. The pagination token is the number of preceding notifications.
    func notificationHistory(_ call: ServerAPICall) throws -> APIAnswer {
        let document = try call.request.document()
        let period = try period(document, call)
        let (type, subtype) = (document["notificationType"]?.text, document["notificationSubtype"]?.text)
        if type == nil, subtype != nil { throw APIFailure(4_000_018) }
        var customerId: String?
        if let id = document["transactionId"] {
            guard type == nil else { throw APIFailure(4_000_019) }
            guard let text = id.text else { throw APIFailure(4_000_006) }
            try APIFailure.checkIdentifier(text)
            guard let finding = customerRegistry.find(text, in: call.environment) else { throw APIFailure(4_040_010) }
            customerId = finding.customer.id
        }
        let onlyFailures = document["onlyFailures"] == .bool(true)
        let all = outbox.log.history(in: call.environment).filter { entry in
            let notification = entry.notification
            return period.contains(notification.date) && (type ?? notification.type) == notification.type
                && (subtype ?? notification.subtype) == notification.subtype
                && (customerId ?? notification.customerId) == notification.customerId
                && !(onlyFailures && entry.isDelivered)
        }
        let offset = try call.request.value("paginationToken", else: 4_000_014) { text in
            Int(text).flatMap { (0...all.count).contains($0) ? $0 : nil }
        }
        let page = all.dropFirst(offset ?? 0).prefix(HistoryQuery.pageSize)
        let next = page.endIndex < all.count ? page.endIndex : nil
        let items = try page.map { entry in
            JSONValue([
                "signedPayload": try issuer.sign(entry.notification, call.fault),
                "sendAttempts": entry.attempts.map(\.document),
            ])
        }
        return APIAnswer([
            "notificationHistory": items, "hasMore": next != nil,
            "paginationToken": next.map { String($0) },
        ])
    }

    /// Apple stores 180 days in production and 30 in the sandbox; an end in the future counts as now.
    private func period(_ document: JSONValue, _ call: ServerAPICall) throws(APIFailure) -> Range<Timestamp> {
        guard let start = document["startDate"]?.integer, start >= 0 else { throw APIFailure(4_000_015) }
        guard let end = document["endDate"]?.integer, end >= 0 else { throw APIFailure(4_000_016) }
        guard start < end else { throw APIFailure(4_000_013) }
        let days: Int64 = call.environment == .production ? 180 : 30
        let oldest = call.instant.advanced(by: .milliseconds(-days * SandboxClock.day))
        guard start >= oldest.milliseconds else { throw APIFailure(4_000_012) }
        return Timestamp(milliseconds: start)..<Timestamp(milliseconds: end)
    }
}
