//! The fields of events, by the server's names.

use crate::json::fields::fields;

fields! {
    Event {
        client b"client"
        name b"eventName"
        request b"request"
        response b"response"
        security b"security"
        server b"server"
        timestamp b"timestamp"
        user b"userId"
    }
}

fields! {
    Client {
        ip b"ip"
    }
}

fields! {
    Server {
        ip b"ip"
        port b"port"
    }
}

fields! {
    Security {
        cipher b"cipher"
        protocol b"protocol"
    }
}

fields! {
    Request {
        abandoned b"idToAbandon"
        conn b"connId"
        dn b"dn"
        filter b"filter"
        kind b"authType"
        message b"msgId"
        oid b"oid"
        operation b"operation"
        protocol b"protocol"
        scope b"scope"
    }
}

fields! {
    Response {
        code b"statusCode"
        elapsed b"elapsedTime"
        entries b"nentries"
        items b"additionalItems"
        processing b"elapsedProcessingTime"
        queueing b"elapsedQueueingTime"
        reason b"reason"
        units b"elapsedTimeUnits"
    }
}
