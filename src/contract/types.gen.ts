// Generated from the contract by src/contract/generate.ts. Change the YAML files and generate again.

export interface paths {
    "/emails": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sent emails
         * @description Newest first. All filters are optional and narrow the list together.
         */
        get: operations["listEmails"];
        put?: never;
        /**
         * Send an email
         * @description Answers once the message is durably recorded; events tell what became of it. The domain of `from` must be verified.
         *     At least one of `html` and `text` is needed, together at most 2 MB. `to`, `cc` and `bcc` together name at most 50
         *     addresses. Suppressed recipients are skipped and reported by an event.
         */
        post: operations["sendEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/{email_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
            };
            cookie?: never;
        };
        /**
         * Read a sent email
         * @description The message as it was sent, and the furthest state it has reached.
         */
        get: operations["getEmail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List domains
         * @description Newest first. Items leave out the records and the tracking subdomain; read one domain to see them.
         */
        get: operations["listDomains"];
        put?: never;
        /**
         * Register a domain
         * @description Answers the domain with the DNS records to publish. A subdomain such as `mail.example.com` keeps the reputation of
         *     your main domain apart. Publish the records, then ask for verification.
         */
        post: operations["createDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        /**
         * Read a domain
         * @description The domain with the present status of every record.
         */
        get: operations["getDomain"];
        put?: never;
        post?: never;
        /**
         * Remove a domain
         * @description Sent emails are kept. Keys pinned to the domain can no longer send, and scheduled mail from it that was not sent fails.
         */
        delete: operations["deleteDomain"];
        options?: never;
        head?: never;
        /**
         * Change a domain's settings
         * @description Name and region are fixed. A new tracking subdomain publishes a new record and verifies tracking again.
         */
        patch: operations["updateDomain"];
        trace?: never;
    };
    "/domains/{domain_id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a domain's DNS records
         * @description Looks the records up now; read the domain to see the outcome. One call a minute per domain. A resolver may remember
         *     for a while that a record was absent, and a scheduled check within the hour looks again by itself.
         */
        post: operations["verifyDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys
         * @description Newest first. Revoked keys are left out unless `status` asks for them. Tokens are never part of the answer.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Create an API key
         * @description Answers the token once; it cannot be read again. A `sending_access` key sends and does nothing else, and can be
         *     pinned to one verified domain with `domain_id`.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{api_key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, not its token.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                api_key_id: components["parameters"]["ApiKeyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description Takes effect at once and for good. The key then answers 403 restricted_api_key and stays listed under `status=revoked`.
         */
        delete: operations["deleteApiKey"];
        options?: never;
        head?: never;
        /**
         * Rename an API key
         * @description Permission and domain are fixed at creation; create another key to change them.
         */
        patch: operations["updateApiKey"];
        trace?: never;
    };
    "/suppressions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List suppressed addresses
         * @description Newest first.
         */
        get: operations["listSuppressions"];
        put?: never;
        /**
         * Suppress an address
         * @description Stops all mail of this team to the address. An address that is already suppressed keeps its entry.
         */
        post: operations["createSuppression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/suppressions/{suppression}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the suppression (`sup_…`) or the suppressed address.
                 * @example someone@example.org
                 */
                suppression: components["parameters"]["Suppression"];
            };
            cookie?: never;
        };
        /**
         * Read a suppression
         * @description Found by its id or by the suppressed address.
         */
        get: operations["getSuppression"];
        put?: never;
        post?: never;
        /**
         * Lift a suppression
         * @description Found by its id or by the suppressed address. Mail to the address is sent again from now on.
         */
        delete: operations["deleteSuppression"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/suppressions/batch/add": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suppress many addresses
         * @description Up to 100 addresses at once. Addresses that are already suppressed are left as they are.
         */
        post: operations["addSuppressions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/suppressions/batch/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lift many suppressions
         * @description Up to 100 at once, by address or by id but not both. What is not suppressed is skipped.
         */
        post: operations["removeSuppressions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say that the process lives
         * @description Answers as long as the process can answer at all, whatever the state of its dependencies. Use it for liveness probes.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say whether requests can be served
         * @description Checks every dependency. Answers 503 with the same body, and the fields of an error, while any of them fails.
         */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read this description as JSON
         * @description The complete OpenAPI 3.1.0 document, in one piece.
         */
        get: operations["getOpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read this description as YAML
         * @description The complete OpenAPI 3.1.0 document, in one piece.
         */
        get: operations["getOpenapiYaml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the API reference
         * @description This description as a page for people. It needs no script and loads nothing from elsewhere.
         */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        SendEmailRequest: {
            /** @description `address` or `Name <address>`, on a verified domain. */
            from: string;
            /** @description The recipients. to, cc and bcc together name at most 50 addresses. */
            to: string | string[];
            /** @description One line of at most 998 bytes. */
            subject: string;
            /** @description The HTML body. html and text together hold at most 2 MB. */
            html?: string;
            /** @description The plain text body. */
            text?: string;
            /** @description Recipients everybody sees. */
            cc?: string | string[];
            /** @description Recipients nobody sees. */
            bcc?: string | string[];
            /** @description Where answers go. Not counted with the recipients. */
            reply_to?: string | string[];
            /** @description When to send, as an ISO 8601 time between 1 minute and 30 days from now. */
            scheduled_at?: string;
            /**
             * @description Further headers, name to value. From, To, Cc, Bcc, Subject, Date, Message-ID, Return-Path, MIME and DKIM headers
             *     and every List-Unsubscribe header are refused.
             */
            headers?: {
                [key: string]: string;
            };
            /** @description At most 100 files. */
            attachments?: components["schemas"]["SendEmailAttachment"][];
            /** @description At most 50 pairs, returned with every event. */
            tags?: components["schemas"]["SendEmailTag"][];
            /** @description Reserved for a later phase. */
            topic_id?: string | null;
        };
        /** @description One file. `filename` and `content` are needed. */
        SendEmailAttachment: {
            /** @description The name the recipient sees. */
            filename?: string;
            /** @description The file as base64, or as a Buffer written with JSON.stringify. */
            content?: string | components["schemas"]["SerializedBuffer"];
            /** @description Guessed from the name when absent. */
            content_type?: string;
            /** @description Refer to it from HTML as `cid:<content_id>`. */
            content_id?: string;
        };
        SerializedBuffer: {
            /** @constant */
            type: "Buffer";
            data: number[];
        };
        SendEmailTag: {
            name: string;
            value: string;
        };
        SentEmail: {
            /** Format: uuid */
            id: string;
        };
        Email: {
            /** @constant */
            object: "email";
            /** Format: uuid */
            id: string;
            from: string;
            to: string[];
            cc: string[];
            bcc: string[];
            reply_to: string[];
            subject: string;
            html: string | null;
            text: string | null;
            /** @description The Message-ID of the message itself. */
            message_id: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it is to be sent; null when it was not scheduled.
             */
            scheduled_at: string | null;
            last_event: components["schemas"]["EmailStatus"];
            tags: components["schemas"]["EmailTag"][];
            topic_id: string | null;
        };
        EmailTag: {
            name: string;
            value: string;
        };
        /**
         * @description The furthest state reached, not a history.
         * @enum {string}
         */
        EmailStatus: "queued" | "scheduled" | "sent" | "delivery_delayed" | "delivered" | "opened" | "clicked" | "bounced" | "complained" | "failed" | "suppressed" | "canceled";
        EmailList: {
            /** @constant */
            object: "list";
            /** @description Whether more emails follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["Email"][];
        };
        CreateDomainRequest: {
            /** @description The domain name. A subdomain is recommended. */
            name: string;
            /**
             * @description Where mail of this domain leaves from.
             * @default eu-west-1
             * @enum {string}
             */
            region?: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1";
            /**
             * @description Kept for the domain; nothing counts opens yet.
             * @default false
             */
            open_tracking?: boolean;
            /**
             * @description Kept for the domain; nothing counts clicks yet.
             * @default false
             */
            click_tracking?: boolean;
            /**
             * @description The label under which tracked links are served.
             * @default track
             */
            tracking_subdomain?: string;
            /**
             * @description The label of the MAIL FROM records, to which bounces come back.
             * @default send
             */
            custom_return_path?: string;
            /**
             * @description `enforced` refuses delivery to a server without TLS.
             * @default opportunistic
             * @enum {string}
             */
            tls?: "opportunistic" | "enforced";
            capabilities?: components["schemas"]["DomainCapabilitiesRequest"];
        };
        UpdateDomainRequest: {
            /** @description Kept for the domain; nothing counts opens yet. */
            open_tracking?: boolean;
            /** @description Kept for the domain; nothing counts clicks yet. */
            click_tracking?: boolean;
            /**
             * @description `enforced` refuses delivery to a server without TLS.
             * @enum {string}
             */
            tls?: "opportunistic" | "enforced";
            /** @description The label under which tracked links are served. */
            tracking_subdomain?: string;
            capabilities?: components["schemas"]["DomainCapabilitiesRequest"];
        };
        /** @description What the domain is used for. Reserved for receiving; sending is the only capability today. */
        DomainCapabilitiesRequest: {
            /** @enum {string} */
            sending?: "enabled" | "disabled";
            /** @enum {string} */
            receiving?: "enabled" | "disabled";
        };
        Domain: {
            /** @constant */
            object: "domain";
            /** Format: uuid */
            id: string;
            name: string;
            status: components["schemas"]["DomainStatus"];
            /** Format: date-time */
            created_at: string;
            region: components["schemas"]["Region"];
            open_tracking: boolean;
            click_tracking: boolean;
            tracking_subdomain: string;
            capabilities: components["schemas"]["DomainCapabilities"];
            records: components["schemas"]["DomainRecord"][];
        };
        DomainListItem: {
            /** Format: uuid */
            id: string;
            name: string;
            status: components["schemas"]["DomainStatus"];
            /** Format: date-time */
            created_at: string;
            region: components["schemas"]["Region"];
            open_tracking: boolean;
            click_tracking: boolean;
            capabilities: components["schemas"]["DomainCapabilities"];
        };
        DomainList: {
            /** @constant */
            object: "list";
            /** @description Whether more domains follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["DomainListItem"][];
        };
        DomainReference: {
            /** @constant */
            object: "domain";
            /** Format: uuid */
            id: string;
        };
        DeletedDomain: {
            /** @constant */
            object: "domain";
            /** Format: uuid */
            id: string;
            /** @constant */
            deleted: true;
        };
        /**
         * @description How far verification has come.
         * @enum {string}
         */
        DomainStatus: "not_started" | "pending" | "verified" | "partially_verified" | "partially_failed" | "failed";
        /**
         * @description Where mail leaves from.
         * @enum {string}
         */
        Region: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1";
        /** @description What the domain can do at present. */
        DomainCapabilities: {
            /** @enum {string} */
            sending: "pending" | "verified" | "disabled";
            /** @enum {string} */
            receiving: "unsupported" | "pending" | "verified" | "disabled";
        };
        /** @description One DNS record to publish. */
        DomainRecord: {
            /**
             * @description What the record is for.
             * @enum {string}
             */
            record: "SPF" | "DKIM" | "Receiving" | "Tracking" | "TrackingCAA" | "Claim" | "DMARC";
            /** @description Where to publish it. */
            name: string;
            /** @enum {string} */
            type: "TXT" | "MX" | "CNAME" | "CAA";
            /** @description Seconds, or `Auto` for what your DNS host proposes. */
            ttl: string;
            /** @enum {string} */
            status: "not_started" | "pending" | "verified" | "temporary_failure" | "failed";
            value: string;
            /** @description MX records only. */
            priority?: number;
        };
        CreateApiKeyRequest: {
            /** @description What people call this key. */
            name: string;
            /**
             * @description What the key may do.
             * @default full_access
             * @enum {string}
             */
            permission?: "full_access" | "sending_access";
            /**
             * Format: uuid
             * @description Pins a `sending_access` key to one verified domain. Refused with `full_access`.
             */
            domain_id?: string;
        };
        UpdateApiKeyRequest: {
            /** @description What people call this key. */
            name: string;
        };
        CreatedApiKey: {
            /** Format: uuid */
            id: string;
            /** @description The key itself. Shown only now. */
            token: string;
        };
        ApiKey: {
            /** Format: uuid */
            id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description Refreshed at most once a minute; null before the first use.
             */
            last_used_at: string | null;
            /** @enum {string} */
            permission: "full_access" | "sending_access";
            /**
             * Format: uuid
             * @description The domain the key is pinned to; absent when it is not pinned.
             */
            domain_id?: string;
            /** @description The first characters of the token. */
            key_prefix: string;
            /** @enum {string} */
            status: "active" | "revoked" | "suspended";
            /** @description The log entry of the last use. */
            last_used_request_log_id: string | null;
        };
        ApiKeyList: {
            /** @constant */
            object: "list";
            /** @description Whether more keys follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["ApiKey"][];
        };
        ApiKeyReference: {
            /** @constant */
            object: "api_key";
            /** Format: uuid */
            id: string;
        };
        DeletedApiKey: {
            /** @constant */
            object: "api_key";
            /** Format: uuid */
            id: string;
            /** @constant */
            deleted: true;
        };
        CreateSuppressionRequest: {
            /** @description The address to suppress. */
            email: string;
        };
        AddSuppressionsRequest: {
            /** @description The addresses to suppress. */
            emails: string[];
        };
        /** @description Exactly one of the two lists. */
        RemoveSuppressionsRequest: {
            /** @description Suppressed addresses. */
            emails?: string[];
            /** @description Ids of suppressions. */
            ids?: string[];
        };
        Suppression: {
            /** @constant */
            object: "suppression";
            id: string;
            email: string;
            origin: components["schemas"]["SuppressionOrigin"];
            /**
             * Format: uuid
             * @description The email that caused it; null when none did.
             */
            source_id: string | null;
            /** Format: date-time */
            created_at: string;
        };
        SuppressionListItem: {
            id: string;
            email: string;
            origin: components["schemas"]["SuppressionOrigin"];
            /**
             * Format: uuid
             * @description The email that caused it; null when none did.
             */
            source_id: string | null;
            /** Format: date-time */
            created_at: string;
        };
        SuppressionList: {
            /** @constant */
            object: "list";
            /** @description Whether more suppressions follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["SuppressionListItem"][];
        };
        SuppressionReference: {
            /** @constant */
            object: "suppression";
            id: string;
        };
        DeletedSuppression: {
            /** @constant */
            object: "suppression";
            id: string;
            /** @constant */
            deleted: true;
        };
        AddedSuppressions: {
            data: components["schemas"]["SuppressionReference"][];
        };
        RemovedSuppressions: {
            data: components["schemas"]["DeletedSuppression"][];
        };
        /**
         * @description Why the address is suppressed.
         * @enum {string}
         */
        SuppressionOrigin: "bounce" | "complaint" | "manual";
        Health: {
            /** @constant */
            status: "ok";
            /** @description The release that answers. */
            version: string;
            /** @description The environment it runs as. */
            env: string;
        };
        Ready: {
            /** @constant */
            status: "ok";
            /** @description The release that answers. */
            version: string;
            /** @description The environment it runs as. */
            env: string;
            checks: components["schemas"]["ReadyCheck"][];
            /** @description Names of the checks that failed. */
            failed: string[];
        };
        NotReady: {
            /** @constant */
            statusCode: 503;
            /** @constant */
            name: "service_unavailable";
            message: string;
            /** @constant */
            status: "degraded";
            /** @description The release that answers. */
            version: string;
            /** @description The environment it runs as. */
            env: string;
            checks: components["schemas"]["ReadyCheck"][];
            /** @description Names of the checks that failed. */
            failed: string[];
        };
        ReadyCheck: {
            name: string;
            ok: boolean;
            durationMs: number;
            /** @description Why it failed; absent when it did not. */
            error?: string;
        };
        OpenapiDocument: {
            /** @constant */
            openapi: "3.1.0";
            info: Record<string, never>;
            paths: Record<string, never>;
        };
        /** @description The body of every refusal. Branch on `name` and the status; `message` may be reworded. */
        Error: {
            /** @description Repeats the HTTP status. */
            statusCode: number;
            name: components["schemas"]["ErrorName"];
            /** @description What is wrong and what would be right. */
            message: string;
            /**
             * @description Present only when the User-Agent header is missing.
             * @constant
             */
            code?: 1010;
            /** @description One entry per failing field. */
            errors?: components["schemas"]["FieldError"][];
            /** @description Whether the domain name can be claimed. */
            claimable?: boolean;
            details?: components["schemas"]["SandboxDetails"];
        };
        /**
         * @description Stable identifier of an error.
         * @enum {string}
         */
        ErrorName: "invalid_idempotency_key" | "validation_error" | "missing_api_key" | "invalid_api_key" | "restricted_api_key" | "email_above_quota" | "invalid_permission" | "suspended_api_key" | "inbox_not_set_up" | "not_found" | "method_not_allowed" | "concurrent_idempotent_requests" | "invalid_idempotent_request" | "resource_locked" | "receiving_mx_in_use" | "invalid_attachment" | "invalid_parameter" | "missing_required_field" | "missing_required_parameter" | "daily_quota_exceeded" | "monthly_quota_exceeded" | "marketing_quota_exceeded" | "rate_limit_exceeded" | "application_error" | "not_implemented" | "service_unavailable";
        FieldError: {
            /** @description Where the field stands, such as `tags.0.name`. */
            path: string;
            /** @description What would be right. */
            message: string;
        };
        /** @description Present only on the 403 of a send whose region is still sandboxed. */
        SandboxDetails: {
            /** @description The first recipient that was refused. */
            recipient: string;
            region: components["schemas"]["Region"];
            /** @description Which recipients this region accepts for now. */
            allowed: ("verified_identity" | "verified_domain" | "simulator")[];
        };
    };
    responses: {
        /** @description The User-Agent header is missing. */
        UserAgentRequired: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not JSON, or a field is unknown or malformed. */
        InvalidBody: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not JSON, a field is unknown or malformed, or the Idempotency-Key has a wrong length. */
        InvalidSend: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The credential is missing, unknown, or a sending_access key on another route. */
        Unauthorized: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The credential is known but may not do this, or the User-Agent header is missing. */
        Forbidden: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The credential may not send this, the domain is not verified, or the region is sandboxed. */
        SendForbidden: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such resource in this team. */
        NotFound: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The Idempotency-Key is in flight, or was used for a different request. */
        IdempotencyConflict: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The domain name is verified by another team. */
        NameTaken: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A path or query parameter is unknown or malformed. */
        InvalidParameter: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A required field is absent, a parameter is malformed, or the resource refuses a well-formed body. */
        Unprocessable: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A required field is absent, an attachment is refused, or a well-formed message cannot be sent. */
        UnprocessableEmail: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests. */
        RateLimited: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                "retry-after": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests, or the sending quota of the team is used up. */
        SendLimited: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                "retry-after": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something unexpected happened. Retry once, with an Idempotency-Key where one is taken. */
        InternalError: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A dependency is down, or sending is switched off. Retry with growing pauses. */
        ServiceUnavailable: {
            headers: {
                "ratelimit-limit": components["headers"]["RateLimitLimit"];
                "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                "ratelimit-reset": components["headers"]["RateLimitReset"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /**
         * @description How many items to answer with.
         * @example 20
         */
        Limit: number;
        /**
         * @description The id of the email.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
         */
        EmailId: string;
        /**
         * @description Start after this email. Not together with `before`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
         */
        AfterEmail: string;
        /**
         * @description End before this email. Not together with `after`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
         */
        BeforeEmail: string;
        /**
         * @description The id of the domain.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
         */
        DomainId: string;
        /**
         * @description Start after this domain. Not together with `before`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
         */
        AfterDomain: string;
        /**
         * @description End before this domain. Not together with `after`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
         */
        BeforeDomain: string;
        /**
         * @description The id of the key, not its token.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
         */
        ApiKeyId: string;
        /**
         * @description Start after this key. Not together with `before`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
         */
        AfterApiKey: string;
        /**
         * @description End before this key. Not together with `after`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
         */
        BeforeApiKey: string;
        /**
         * @description The id of the suppression (`sup_…`) or the suppressed address.
         * @example someone@example.org
         */
        Suppression: string;
        /**
         * @description Start after this suppression. Not together with `before`.
         * @example sup_019a9c1e7d527c3a9a540b8f4c1f2e03
         */
        AfterSuppression: string;
        /**
         * @description End before this suppression. Not together with `after`.
         * @example sup_019a9c1e7d527c3a9a540b8f4c1f2e03
         */
        BeforeSuppression: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Requests allowed a second.
         * @example 10
         */
        RateLimitLimit: number;
        /**
         * @description Requests left at this moment.
         * @example 9
         */
        RateLimitRemaining: number;
        /**
         * @description Seconds until the full allowance is back.
         * @example 1
         */
        RateLimitReset: number;
        /**
         * @description Names this request in the log; quote it when you report a problem.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
         */
        RequestId: string;
        /**
         * @description Whole seconds to wait, never zero. Sent with rate_limit_exceeded alone; the quota errors do not clear by waiting.
         * @example 1
         */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listEmails: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this email. Not together with `before`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                after?: components["parameters"]["AfterEmail"];
                /**
                 * @description End before this email. Not together with `after`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                before?: components["parameters"]["BeforeEmail"];
                /**
                 * @description Only emails whose furthest state is this one.
                 * @example bounced
                 */
                status?: "queued" | "scheduled" | "sent" | "delivery_delayed" | "delivered" | "opened" | "clicked" | "bounced" | "complained" | "failed" | "suppressed" | "canceled";
                /**
                 * @description Only emails sent with this key. Revoked keys still filter.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                api_key_id?: string;
                /**
                 * @description Only emails created at this ISO 8601 time or later.
                 * @example 2026-11-01T00:00:00.000Z
                 */
                start_date?: string;
                /**
                 * @description Only emails created at this ISO 8601 time or earlier.
                 * @example 2026-11-20T23:59:59.999Z
                 */
                end_date?: string;
                /**
                 * @description Only emails whose subject, sender or any recipient contains this, in any letter case. The body is not searched;
                 *     `%` and `_` stand for themselves.
                 * @example receipt
                 */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of emails. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "has_more": false,
                     *       "data": [
                     *         {
                     *           "object": "email",
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77",
                     *           "from": "Example <hello@mail.example.com>",
                     *           "to": [
                     *             "someone@example.org"
                     *           ],
                     *           "cc": [],
                     *           "bcc": [],
                     *           "reply_to": [],
                     *           "subject": "Your receipt",
                     *           "html": "<p>Thank you.</p>",
                     *           "text": "Thank you.",
                     *           "message_id": "<019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77@mail.example.com>",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "scheduled_at": null,
                     *           "last_event": "delivered",
                     *           "tags": [
                     *             {
                     *               "name": "kind",
                     *               "value": "receipt"
                     *             }
                     *           ],
                     *           "topic_id": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["EmailList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    sendEmail: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: a repeated request with the same key answers the first response again for 24 hours.
                 *     1 to 256 characters, chosen by you.
                 * @example receipt-10042
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendEmailRequest"];
            };
        };
        responses: {
            /** @description The message is recorded and will be sent. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77"
                     *     }
                     */
                    "application/json": components["schemas"]["SentEmail"];
                };
            };
            400: components["responses"]["InvalidSend"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["SendForbidden"];
            409: components["responses"]["IdempotencyConflict"];
            422: components["responses"]["UnprocessableEmail"];
            429: components["responses"]["SendLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The email. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "email",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77",
                     *       "from": "Example <hello@mail.example.com>",
                     *       "to": [
                     *         "someone@example.org"
                     *       ],
                     *       "cc": [],
                     *       "bcc": [],
                     *       "reply_to": [],
                     *       "subject": "Your receipt",
                     *       "html": "<p>Thank you.</p>",
                     *       "text": "Thank you.",
                     *       "message_id": "<019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77@mail.example.com>",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "scheduled_at": null,
                     *       "last_event": "delivered",
                     *       "tags": [
                     *         {
                     *           "name": "kind",
                     *           "value": "receipt"
                     *         }
                     *       ],
                     *       "topic_id": null
                     *     }
                     */
                    "application/json": components["schemas"]["Email"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listDomains: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this domain. Not together with `before`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                after?: components["parameters"]["AfterDomain"];
                /**
                 * @description End before this domain. Not together with `after`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                before?: components["parameters"]["BeforeDomain"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of domains. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "has_more": false,
                     *       "data": [
                     *         {
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *           "name": "mail.example.com",
                     *           "status": "verified",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "region": "eu-west-1",
                     *           "open_tracking": false,
                     *           "click_tracking": false,
                     *           "capabilities": {
                     *             "sending": "verified",
                     *             "receiving": "unsupported"
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["DomainList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createDomain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "mail.example.com",
                 *       "region": "eu-west-1",
                 *       "tls": "opportunistic"
                 *     }
                 */
                "application/json": components["schemas"]["CreateDomainRequest"];
            };
        };
        responses: {
            /** @description The domain was registered. */
            201: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "domain",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "name": "mail.example.com",
                     *       "status": "not_started",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "region": "eu-west-1",
                     *       "open_tracking": false,
                     *       "click_tracking": false,
                     *       "tracking_subdomain": "track",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10
                     *         },
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rasket._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Domain"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["NameTaken"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "domain",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "name": "mail.example.com",
                     *       "status": "not_started",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "region": "eu-west-1",
                     *       "open_tracking": false,
                     *       "click_tracking": false,
                     *       "tracking_subdomain": "track",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10
                     *         },
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rasket._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Domain"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain was removed. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "domain",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedDomain"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "open_tracking": false,
                 *       "tls": "enforced"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateDomainRequest"];
            };
        };
        responses: {
            /** @description The settings were changed. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "domain",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainReference"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    verifyDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the domain.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The check was made. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "domain",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainReference"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["NameTaken"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this key. Not together with `before`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                after?: components["parameters"]["AfterApiKey"];
                /**
                 * @description End before this key. Not together with `after`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                before?: components["parameters"]["BeforeApiKey"];
                /**
                 * @description Which keys to list. `active` includes suspended ones.
                 * @example active
                 */
                status?: "active" | "revoked" | "all";
                /**
                 * @description Only keys whose name contains this, in any letter case.
                 * @example billing
                 */
                search?: string;
                /**
                 * @description Only keys with this permission.
                 * @example sending_access
                 */
                permission?: "full_access" | "sending_access";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of keys. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "has_more": false,
                     *       "data": [
                     *         {
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02",
                     *           "name": "Billing service",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "last_used_at": null,
                     *           "permission": "sending_access",
                     *           "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *           "key_prefix": "rk_4fGh2kLm",
                     *           "status": "active",
                     *           "last_used_request_log_id": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ApiKeyList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Billing service",
                 *       "permission": "sending_access",
                 *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01"
                 *     }
                 */
                "application/json": components["schemas"]["CreateApiKeyRequest"];
            };
        };
        responses: {
            /** @description The key was created. Keep the token; it is not shown again. */
            201: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02",
                     *       "token": "rk_4fGh2kLmN8pQrStUvWxYz0"
                     *     }
                     */
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, not its token.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                api_key_id: components["parameters"]["ApiKeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key was revoked. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "api_key",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedApiKey"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, not its token.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02
                 */
                api_key_id: components["parameters"]["ApiKeyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Billing service (old)"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateApiKeyRequest"];
            };
        };
        responses: {
            /** @description The key was renamed. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "api_key",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02"
                     *     }
                     */
                    "application/json": components["schemas"]["ApiKeyReference"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSuppressions: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this suppression. Not together with `before`.
                 * @example sup_019a9c1e7d527c3a9a540b8f4c1f2e03
                 */
                after?: components["parameters"]["AfterSuppression"];
                /**
                 * @description End before this suppression. Not together with `after`.
                 * @example sup_019a9c1e7d527c3a9a540b8f4c1f2e03
                 */
                before?: components["parameters"]["BeforeSuppression"];
                /**
                 * @description Only addresses suppressed for this reason.
                 * @example bounce
                 */
                origin?: "bounce" | "complaint" | "manual";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of suppressions. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "has_more": false,
                     *       "data": [
                     *         {
                     *           "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03",
                     *           "email": "someone@example.org",
                     *           "origin": "bounce",
                     *           "source_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77",
                     *           "created_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["SuppressionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSuppression: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "someone@example.org"
                 *     }
                 */
                "application/json": components["schemas"]["CreateSuppressionRequest"];
            };
        };
        responses: {
            /** @description The address is suppressed. */
            201: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "suppression",
                     *       "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03"
                     *     }
                     */
                    "application/json": components["schemas"]["SuppressionReference"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSuppression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the suppression (`sup_…`) or the suppressed address.
                 * @example someone@example.org
                 */
                suppression: components["parameters"]["Suppression"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The suppression. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "suppression",
                     *       "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03",
                     *       "email": "someone@example.org",
                     *       "origin": "manual",
                     *       "source_id": null,
                     *       "created_at": "2026-11-20T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Suppression"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteSuppression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the suppression (`sup_…`) or the suppressed address.
                 * @example someone@example.org
                 */
                suppression: components["parameters"]["Suppression"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The suppression was lifted. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "suppression",
                     *       "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedSuppression"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    addSuppressions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "emails": [
                 *         "someone@example.org",
                 *         "other@example.org"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["AddSuppressionsRequest"];
            };
        };
        responses: {
            /** @description All addresses are suppressed. */
            201: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "object": "suppression",
                     *           "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03"
                     *         },
                     *         {
                     *           "object": "suppression",
                     *           "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e04"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["AddedSuppressions"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    removeSuppressions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RemoveSuppressionsRequest"];
            };
        };
        responses: {
            /** @description The suppressions were lifted. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "object": "suppression",
                     *           "id": "sup_019a9c1e7d527c3a9a540b8f4c1f2e03",
                     *           "deleted": true
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RemovedSuppressions"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process lives. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "version": "0.1.0",
                     *       "env": "production"
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            403: components["responses"]["UserAgentRequired"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every check passed. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "version": "0.1.0",
                     *       "env": "production",
                     *       "checks": [
                     *         {
                     *           "name": "database",
                     *           "ok": true,
                     *           "durationMs": 0.4
                     *         }
                     *       ],
                     *       "failed": []
                     *     }
                     */
                    "application/json": components["schemas"]["Ready"];
                };
            };
            403: components["responses"]["UserAgentRequired"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            /** @description At least one check failed. */
            503: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "statusCode": 503,
                     *       "name": "service_unavailable",
                     *       "message": "Not ready: database.",
                     *       "status": "degraded",
                     *       "version": "0.1.0",
                     *       "env": "production",
                     *       "checks": [
                     *         {
                     *           "name": "database",
                     *           "ok": false,
                     *           "durationMs": 2000.1,
                     *           "error": "database does not answer as it should"
                     *         }
                     *       ],
                     *       "failed": [
                     *         "database"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["NotReady"];
                };
            };
        };
    };
    getOpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0",
                     *       "info": {
                     *         "title": "Rasket",
                     *         "version": "1.0.0"
                     *       },
                     *       "paths": {}
                     *     }
                     */
                    "application/json": components["schemas"]["OpenapiDocument"];
                };
            };
            403: components["responses"]["UserAgentRequired"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
        };
    };
    getOpenapiYaml: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example openapi: 3.1.0 */
                    "application/yaml": string;
                };
            };
            403: components["responses"]["UserAgentRequired"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example <!doctype html> */
                    "text/html": string;
                };
            };
            403: components["responses"]["UserAgentRequired"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
        };
    };
}
