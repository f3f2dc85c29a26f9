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
         * @description Newest first. All filters are optional and narrow the list together. A page ends early where the bodies in it would
         *     be more than 16 million characters together; `has_more` says that there are others.
         */
        get: operations["listEmails"];
        put?: never;
        /**
         * Send an email
         * @description Answers once the message is durably recorded; events tell what became of it. The domain of `from` must be verified.
         *     At least one of `html` and `text` is needed unless a `template` is used, together at most 2 MB. `to`, `cc` and `bcc`
         *     together name at most 50 addresses. Suppressed recipients are skipped and reported by an event. An email counts as
         *     one towards the plan's quotas, whomever it goes to, from when it is accepted; canceling it gives nothing back.
         */
        post: operations["sendEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send up to 100 emails
         * @description Each entry is a send as in POST /emails, attachments, templates and times included. With strict validation, the
         *     default, all are accepted in one step or none is. With permissive validation the good ones are accepted and the
         *     others are named in `errors`. One Idempotency-Key covers the whole batch. A batch that the plan's quota has no room
         *     for is refused as a whole.
         */
        post: operations["sendBatch"];
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
        /**
         * Move a scheduled email
         * @description Changes when a scheduled email is sent. Once its dispatch has begun it is refused.
         */
        patch: operations["updateEmail"];
        trace?: never;
    };
    "/emails/{email_id}/cancel": {
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
        get?: never;
        put?: never;
        /**
         * Cancel a scheduled email
         * @description Takes back a scheduled email before its dispatch begins; afterwards nothing is recalled and the request is refused.
         *     An email is either canceled or sent, never both.
         */
        post: operations["cancelEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/{email_id}/share": {
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
        get?: never;
        put?: never;
        /**
         * Share an email
         * @description Makes a link that opens a read-only page of one sent email without a sign-in. The link is answered once and only
         *     its hash is stored, so it cannot be read again. It works until it expires or is revoked. An email may have
         *     several links. The recipients in bcc are never shown.
         */
        post: operations["createShare"];
        /**
         * Revoke the links of an email
         * @description Every link of the email stops working with this call. An email without links is answered alike.
         */
        delete: operations["revokeShares"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/share/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look at a shared email
         * @description The page behind a link, for people. It runs no script and loads nothing from elsewhere until remote images are
         *     asked for. Unknown, expired and revoked links answer the same 404: a page where `Accept` names text/html, the
         *     error body everywhere else.
         */
        get: operations["getSharePage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/{email_id}/attachments": {
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
         * List the attachments of a sent email
         * @description In the order they have in the email, each with a fresh link that is good for fifteen minutes.
         */
        get: operations["listAttachments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/{email_id}/attachments/{attachment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
                /**
                 * @description The id of the attachment.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                attachment_id: components["parameters"]["AttachmentId"];
            };
            cookie?: never;
        };
        /**
         * Read an attachment
         * @description What the attachment is, with a fresh link that is good for fifteen minutes.
         */
        get: operations["getAttachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/{email_id}/attachments/{attachment_id}/download": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
                /**
                 * @description The id of the attachment.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                attachment_id: components["parameters"]["AttachmentId"];
            };
            cookie?: never;
        };
        /**
         * Download an attachment
         * @description The file itself, under a link that another operation answered; it takes no key. It comes with the content type it was
         *     sent with, and always as a download. A link that is forged, expired or leads to nothing answers the same 404.
         */
        get: operations["downloadAttachment"];
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
         *     your main domain apart. Publish the records, then ask for verification. Records that are not `required` are
         *     advised: nothing waits for them.
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
         * @description The domain with what DNS says of every record now, remembered for a moment. A record of a verified domain that is
         *     absent or wrong is a `temporary_failure` for three days, in which the domain stays verified, before it has failed.
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
         * @description Name and region are fixed. Turning tracking on, or giving it another subdomain, adds a Tracking record to publish
         *     and looks it up at once; until it is verified, mail goes out untracked. Turning it off takes the record away.
         *     Where a CAA record forbids the authority that certifies tracking hosts, a TrackingCAA record is asked for too.
         *     Turning receiving on adds a Receiving record; where the MX of the name delivers elsewhere today, that has to be
         *     confirmed.
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
         * @description Looks the records up now; read the domain to see the outcome. One call a minute per domain, shared with
         *     `dkim/regenerate`. A resolver may remember
         *     for a while that a record was absent, and a scheduled check within the hour looks again by itself.
         */
        post: operations["verifyDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/dkim/regenerate": {
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
         * Replace a domain's DKIM keys at once
         * @description For a key that may be in wrong hands: every key of the domain goes out of use at once, and the domain is not
         *     verified for sending until the new record is seen. Mail that waits is held until then, by its ordinary retries, and
         *     fails with the reason `domain_unverified` when they are used up. One call a minute per domain, shared with
         *     `verify`. To replace keys without a gap, use `dkim/rotate`.
         */
        post: operations["regenerateDkim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/dkim/rotate": {
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
         * Replace a domain's DKIM keys without a gap
         * @description Adds the records of new keys, marked `incoming`. The old keys sign on until a check sees the new record, which
         *     then signs; the old ones are `retiring` and stay published for seven days, until what they signed has arrived.
         *     Asked again while a rotation is under way, it answers the same records.
         */
        post: operations["rotateDkim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/dns/zone": {
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
         * Read a domain's records as a zone file
         * @description The records to publish as lines of a BIND zone file, every name complete, long texts split into strings of 255
         *     bytes. Add them to your zone, or include them with `$INCLUDE`.
         */
        get: operations["getDomainZone"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/dns/configure": {
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
         * Publish a domain's records
         * @description Writes what the domain has to publish into its zone, and answers what that changed; with `dry_run` it answers the
         *     same and changes nothing. Only records that were published this way are ever replaced or removed. A record of
         *     somebody else that is in the way is named in the refusal, and nothing is changed.
         *
         *     With a provider of the installation, what the domain needs later, such as a new DKIM key, is published by itself,
         *     and everything is removed when the domain is. `remove` takes all of it back and ends that.
         *
         *     `api_token` is a Cloudflare API token of your own with the permissions Zone Read and DNS Edit. It is used for this
         *     call and not stored.
         */
        post: operations["configureDomainDns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim a domain that another team has verified
         * @description Registers your own copy of the domain, or takes the one you have registered already, and answers with the TXT record
         *     that shows that its DNS is yours. The copy has DKIM keys of its own: publish its records at the same time, and it is
         *     verified as soon as it is yours.
         *
         *     Asked again while a claim is open, the same claim is answered with 200, and the other fields are not looked at. A
         *     claim ends after 7 days; delete your copy of the domain to end it sooner.
         */
        post: operations["claimDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/claim": {
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
         * Read the latest claim of a domain
         * @description The domain is your copy, whose id stands in the claim as `domain_id`.
         */
        get: operations["getDomainClaim"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/claim/verify": {
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
         * Check a claim's TXT record
         * @description Looks the record up now and, unless something blocks the claim, moves the domain to your team: the other team's copy
         *     can send no more, and yours is checked at once. A blocked claim stays pending with its reason and is checked again
         *     every hour.
         *
         *     One call a minute per domain, shared with the domain's own verification. A claim that is over is answered as it is.
         */
        post: operations["verifyDomainClaim"];
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
    "/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates
         * @description Newest first. Items leave out the content; read one template to see it.
         */
        get: operations["listTemplates"];
        put?: never;
        /**
         * Create a template
         * @description Creates a draft. Publish it before sending with it. Every value is put into html with `&`, `<`, `>` and quotes
         *     escaped, and into text and subject as it is: the value a send gives, else the inline default, else the variable's
         *     fallback_value, else nothing.
         */
        post: operations["createTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{template}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        /**
         * Read a template
         * @description Found by id or alias. Shows the content as it was last written, published or not.
         */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /**
         * Delete a template
         * @description Found by id or alias. Emails that were accepted with it are sent all the same.
         */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        /**
         * Change a template
         * @description Found by id or alias. Fields that are left out stay as they are, null takes away what may be absent, and a list of
         *     variables replaces the list before. Changed content waits as a draft until it is published; name and alias change
         *     at once.
         */
        patch: operations["updateTemplate"];
        trace?: never;
    };
    "/templates/{template}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish a template
         * @description Found by id or alias. Sends use the content as it is now from here on. Every variable in html, text and subject has
         *     to be declared, or be one that a campaign knows by itself: FIRST_NAME, LAST_NAME, EMAIL, UNSUBSCRIBE_URL and
         *     PREFERENCES_URL. Publishing again what is published changes nothing.
         */
        post: operations["publishTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{template}/duplicate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Duplicate a template
         * @description Found by id or alias. Creates a draft with the content as it was last written, named `Copy of …` and without an
         *     alias.
         */
        post: operations["duplicateTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
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
    "/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List endpoints
         * @description Newest first, with their secrets masked.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Add an endpoint
         * @description A connection to the endpoint is tried first, and its TLS certificate checked, for five seconds at the most; it must
         *     resolve to a public address. Nothing is posted before there is an event, and redirects are never followed. The answer
         *     holds the signing secret, which is shown this once.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        /**
         * Read an endpoint
         * @description The secret is masked: all but its last four characters.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Remove an endpoint
         * @description It is sent nothing more, not even what was due, and its events are removed with it.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change an endpoint
         * @description What is not named stays as it is. A new `endpoint` is checked as at its creation, and `events` replace those before.
         *     While an endpoint is disabled it is sent nothing, and what would have been sent is parked; enabling it again sends
         *     what happens from then on, and parked events are sent by replaying them.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/webhooks/{webhook_id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an endpoint a new signing secret
         * @description The new secret is shown this once. For 24 hours every delivery carries two signatures, of the new and of the old
         *     secret, so that receivers can change over without a gap. Rotating again within these hours ends the older one.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/signing-secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an endpoint a new signing secret, under another path
         * @description The same as `POST /webhooks/{webhook_id}/rotate-secret`.
         */
        post: operations["rotateWebhookSigningSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        /**
         * List the events of an endpoint
         * @description Newest first, for as long as the plan keeps events.
         */
        get: operations["listWebhookEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/events/{event_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        /**
         * Read an event of an endpoint
         * @description With `payload`, which every attempt carries byte for byte, and `next_attempt_at`, the time from which the next attempt
         *     is made; null when none is to come.
         */
        get: operations["getWebhookEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/events/{event_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        /**
         * List the attempts to deliver an event
         * @description Newest first.
         */
        get: operations["listWebhookAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/events/{event_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an event again
         * @description The same payload under the same `svix-id`, with a fresh timestamp and signature and the whole schedule of attempts
         *     before it. Ten replays a minute for each team, and each counts: an event that is replayed again before it was sent
         *     is sent once, and nothing is gained by it. A disabled endpoint is sent nothing, so replaying to it is refused.
         */
        post: operations["replayWebhookEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhook_id}/parked": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        /**
         * List what happened while an endpoint was disabled
         * @description Oldest first, and what was waiting for its next attempt when it was disabled is among them. Enabling the endpoint
         *     sends none of these; replay them. A replayed event is parked no more.
         */
        get: operations["listParkedWebhookEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/listen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listen to events without a public address
         * @description A stream of server-sent events that brings the team's events to a developer's machine, as webhooks would bring them.
         *     Its frames are called `listening` (the first one: `id`, `signing_secret`, `events`, `resumed`), `event` (`id`, `type`,
         *     `payload`, which is the exact body, and `headers`, which are the ones to send with it) and `closed` (`reason`:
         *     `shutting_down`, `key_revoked` or `lost`). A comment every 15 seconds is a sign of life.
         *
         *     Each listener has a signing secret of its own, which is shown this once. Every event that is recorded while the
         *     stream is open is sent. A stream that broke off is taken up where it broke by sending the `id` of its last frame as
         *     `Last-Event-ID` within five minutes; `resumed` says whether that was possible, and if not, this is a new listener
         *     with a new secret. Ten streams may be open at once for each team.
         */
        get: operations["listenWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/team": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read your team
         * @description The team of the credential, with its plan and its sender identity.
         */
        get: operations["getTeam"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change your team
         * @description Send at least one field. A field that is left out keeps its value; an address is replaced as a whole.
         *     A team without a postal address must send one together with, or before, its sender name.
         *     The name of a team is its operator's to change; a body that holds `name` is refused.
         */
        patch: operations["updateTeam"];
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read your usage
         * @description What the team has used of its plan. Days and months are those of UTC.
         *
         *     Receiving, contacts, segments, broadcasts, automations and the AI helpers are not part of this version: they
         *     answer 0 used. What has no limit has `limit` null; a limit of 0 says that there is none to be had.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List requests
         * @description Newest first: every request whose API key was accepted, refusals included. Kept for a few days, as this
         *     installation and the team's plan say. Requests are written a quarter of a second after their answers: a server
         *     that crashes loses the last of them, one that is overloaded may leave some out, and those answered by another
         *     node show that much later.
         */
        get: operations["listLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/logs/{log_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the request, which its answer carries as `x-request-id`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
                 */
                log_id: components["parameters"]["LogId"];
            };
            cookie?: never;
        };
        /**
         * Read a request
         * @description Found by the `x-request-id` of its answer. Tokens, passwords and other secrets, the content of attachments and
         *     the signatures of links read `[redacted]`; they were never stored. A body that is too large for the log is
         *     `{truncated: true, bytes, preview}`, with a `preview` of what could be kept; one that is not JSON is
         *     `{unreadable: true, bytes}`; one that holds nothing but secrets is `{redacted: true, bytes}`. What this family
         *     itself answered is not kept.
         */
        get: operations["getLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/emails/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read metrics
         * @description Counts and rates of sent mail over a range of time; the seven days that end now unless you say otherwise.
         *
         *     Every count counts emails, however many recipients they have: an email counts once for a metric, at the time of
         *     its first event of that kind. One that reached one recipient and bounced at another counts as delivered and as
         *     bounced. `opened` and `clicked` alone count every event; `unique_opened` and `unique_clicked` count emails.
         *     `received` counts what was accepted for sending, now or later. `unsubscribed` is 0 for now.
         *
         *     Rates are percentages with two decimals: `delivery_rate` and `bounce_rate` of `sent`, and `open_rate`
         *     (`unique_opened`), `click_rate` (`unique_clicked`), `complaint_rate` and `unsubscribe_rate` of `delivered`. A rate
         *     of nothing is 0. Events count when they happen, so a short range may hold the deliveries of mail that was sent
         *     before it, and a rate above 100.
         *
         *     Counts are kept by quarters of an hour, and the range is widened to them: `start_date` and `end_date` of the
         *     answer are what was counted, from the one up to but without the other, and never beyond now. Days, weeks (from
         *     Monday) and months are those of `timezone`; the first and the last period hold only their part of the range.
         *
         *     With `dimensions` the answer has `data`: one row for each period, in order and with zeros where nothing happened,
         *     and for each domain, email or broadcast with anything to count, or for each of their combinations. Ids that are
         *     not the team's count nothing. Up to 1000 rows are answered.
         */
        get: operations["getEmailMetrics"];
        put?: never;
        post?: never;
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
            from?: string;
            /** @description The recipients. to, cc and bcc together name at most 50 addresses. */
            to?: string | string[];
            /** @description One line of at most 998 bytes. */
            subject?: string;
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
            template?: components["schemas"]["SendEmailTemplate"];
            /** @description Reserved for a later phase. */
            topic_id?: string | null;
        };
        /**
         * @description A published template. It supplies html and text and, where this send leaves them out, from, subject and reply_to;
         *     it cannot be combined with html or text.
         */
        SendEmailTemplate: {
            /** @description Its id or its alias. */
            id: string;
            /**
             * @description Declared keys and what they stand for: strings of at most 2000 characters, or numbers. A key that is left out
             *     takes its fallback.
             */
            variables?: {
                [key: string]: string | number;
            };
        };
        /**
         * @description One file: `filename`, and exactly one of `content` and `path`. All attachments of a request together hold at most
         *     30 MiB, unless the installation sets another limit.
         */
        SendEmailAttachment: {
            /** @description The name the recipient sees. */
            filename?: string;
            /** @description The file as base64, or as a Buffer written with JSON.stringify. */
            content?: string | components["schemas"]["SerializedBuffer"];
            /**
             * @description An https URL of at most 2048 characters. It is fetched when the email is accepted: from a public address, with at
             *     most three redirects and within 10 seconds for all files of the request, and must answer 200.
             */
            path?: string;
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
        SendBatchRequest: components["schemas"]["SendEmailRequest"][];
        SentBatch: {
            /** @description The accepted emails, in the order sent. */
            data: components["schemas"]["SentEmail"][];
            /** @description With permissive validation, the emails that were refused. */
            errors?: components["schemas"]["BatchError"][];
        };
        BatchError: {
            /** @description Its place in the request */
            index: number;
            message: string;
        };
        UpdateEmailRequest: {
            /** @description When to send, as an ISO 8601 time between 1 minute and 30 days from now. */
            scheduled_at: string;
        };
        ChangedEmail: {
            /** @constant */
            object: "email";
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
        CreateShareRequest: {
            /**
             * @description How long the link works: a whole number and a unit (s, m, h, d, or second, minute, hour, day and their
             *     plurals), such as `10m`, `2 hours` or `1 day`. At most 48 hours, which is also what an absent field means.
             * @default 48 hours
             */
            expires_in?: string;
        };
        Share: {
            /** @constant */
            object: "email";
            /**
             * Format: uuid
             * @description The email.
             */
            id: string;
            /** @description The link. It is answered this once. */
            url: string;
        };
        RevokedShares: {
            /** @constant */
            object: "email";
            /**
             * Format: uuid
             * @description The email.
             */
            id: string;
            /** @description How many links that still worked were revoked. */
            revoked: number;
        };
        Attachment: {
            /** @constant */
            object: "attachment";
            id: string;
            /** @description The name it was sent with. */
            filename: string;
            content_type: string;
            content_disposition: components["schemas"]["AttachmentDisposition"];
            /** @description Present only when the attachment was sent with one. */
            content_id?: string;
            /** @description In bytes. */
            size: number;
            /**
             * Format: uri
             * @description The file itself; needs no key.
             */
            download_url: string;
            /**
             * Format: date-time
             * @description When the link ends.
             */
            expires_at: string;
        };
        AttachmentListItem: {
            id: string;
            /** @description The name it was sent with. */
            filename: string;
            content_type: string;
            content_disposition: components["schemas"]["AttachmentDisposition"];
            /** @description Present only when the attachment was sent with one. */
            content_id?: string;
            /** @description In bytes. */
            size: number;
            /**
             * Format: uri
             * @description The file itself; needs no key.
             */
            download_url: string;
            /**
             * Format: date-time
             * @description When the link ends.
             */
            expires_at: string;
        };
        AttachmentList: {
            /** @constant */
            object: "list";
            /** @description Whether more attachments follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["AttachmentListItem"][];
        };
        /**
         * @description Whether it belongs to the text (it was sent with a content_id) or beside it.
         * @enum {string}
         */
        AttachmentDisposition: "inline" | "attachment";
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
             * @description Counts opens of mail with HTML, by a picture of one pixel, at most 1000 an email. Begins when the Tracking record is verified.
             * @default false
             */
            open_tracking?: boolean;
            /**
             * @description Counts followed links of mail with HTML, at most 1000 an email; a link with the attribute data-rasket-no-track is left alone. Begins when the Tracking record is verified.
             * @default false
             */
            click_tracking?: boolean;
            /**
             * @description The label of the Tracking record, under which pixels and links are served.
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
            /** @description Counts opens of mail with HTML, by a picture of one pixel, at most 1000 an email. Begins when the Tracking record is verified. */
            open_tracking?: boolean;
            /** @description Counts followed links of mail with HTML, at most 1000 an email; a link with the attribute data-rasket-no-track is left alone. Begins when the Tracking record is verified. */
            click_tracking?: boolean;
            /**
             * @description `enforced` refuses delivery to a server without TLS.
             * @enum {string}
             */
            tls?: "opportunistic" | "enforced";
            /** @description The label of the Tracking record, under which pixels and links are served. */
            tracking_subdomain?: string;
            capabilities?: components["schemas"]["DomainCapabilitiesRequest"];
            /** @description With `capabilities.receiving` enabled; mail of the name is to come here although its MX delivers elsewhere today. */
            confirm_replace_mx?: boolean;
        };
        RegenerateDkimRequest: {
            /**
             * @description The length of the RSA key. 1024 is for DNS hosts that take no longer record.
             * @enum {integer}
             */
            key_bits: 2048 | 1024;
        };
        /** @description What the domain is used for; one of the two has to be enabled. */
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
            /** @enum {string} */
            tls: "opportunistic" | "enforced";
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
         * @description How far verification has come: of sending, and of receiving where that is enabled. Of two, one verified and the
         *     other awaited is `partially_verified`, one verified and the other failed is `partially_failed`. Mail can be sent
         *     while `capabilities.sending` is verified.
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
            /** @description Whether something that is switched on does not work without it. */
            required: boolean;
            /**
             * @description DKIM records only. Active keys sign, incoming ones will once seen, retiring ones can be taken away soon.
             * @enum {string}
             */
            key_status?: "active" | "incoming" | "retiring";
            /** @description What is wrong with it and what to do, in a sentence; null when nothing is, or DNS was not asked. */
            diagnosis?: string | null;
            found?: components["schemas"]["RecordFound"];
        };
        /** @description What stands in DNS now, shortened, without control characters; null when DNS was not asked for this answer. */
        RecordFound: {
            /** @description The answer of the resolver this installation uses. Empty also when only a private network knows the zone. */
            resolver: string[];
            /** @description The answer of the zone's own name servers. Asked only about a record that is not verified. */
            authoritative: string[];
        } | null;
        ConfigureDomainDnsRequest: {
            /**
             * @description The provider to publish with. It may be left out where the domain has been published before, or where only one
             *     provider that your team may use has the domain's zone.
             */
            provider?: string;
            /**
             * @description Answers what would change and changes nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description Removes everything that was published for the domain.
             * @default false
             */
            remove?: boolean;
            /** @description A Cloudflare API token, used for this call only. */
            api_token?: string;
        };
        DnsConfiguration: {
            /** @constant */
            object: "dns_configuration";
            /** Format: uuid */
            domain_id: string;
            /** @description The provider that was used. */
            provider: string;
            /** @description The zone that holds the domain. */
            zone: string;
            /** @description Whether nothing was changed. */
            dry_run: boolean;
            /** @description Empty where the zone holds everything already. */
            changes: components["schemas"]["DnsChange"][];
        };
        DnsChange: {
            /**
             * @description `replace` removes what we published at the same name before.
             * @enum {string}
             */
            action: "create" | "replace" | "delete";
            name: string;
            /** @enum {string} */
            type: "TXT" | "MX" | "CNAME" | "CAA";
            /** @description The new value; of `delete` */
            value: string;
            /** @description Seconds. */
            ttl: number;
            /** @description MX only. */
            priority?: number;
        };
        ClaimDomainRequest: {
            /** @description The very name that the other team has verified. */
            name: string;
            /**
             * @description Where mail of this domain will leave from; without it the installation's default.
             * @enum {string}
             */
            region?: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1";
            /** @description The label of the MAIL FROM records, to which bounces come back; without it `send`. */
            custom_return_path?: string;
            /** @description Counts opens, as in the registration of a domain. */
            open_tracking?: boolean;
            /** @description Counts followed links, as in the registration of a domain. */
            click_tracking?: boolean;
            /** @description The label under which pixels and links are served; without it `track`. */
            tracking_subdomain?: string;
        };
        DomainClaim: {
            /** @constant */
            object: "domain_claim";
            /** Format: uuid */
            id: string;
            /** @description The name that is claimed. */
            name: string;
            status: components["schemas"]["DomainClaimStatus"];
            /**
             * Format: uuid
             * @description Your copy of the domain.
             */
            domain_id: string | null;
            /**
             * @description Where mail of your copy leaves from.
             * @enum {string|null}
             */
            region: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1" | null;
            record: components["schemas"]["DomainClaimRecord"];
            blocked_reason: components["schemas"]["DomainClaimBlockedReason"];
            /** @description Why a claim that is over was not completed. */
            failure_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description 7 days after the claim was opened.
             */
            expires_at: string;
        };
        /**
         * @description How far the claim has come. It is `pending` until it is over, a blocked one too, and then `completed`: the domain is
         *     yours; `expired`; `superseded`: another team completed a claim, or you verified the name without one; `canceled`: you
         *     deleted your copy; or `failed`: see `failure_reason`.
         * @enum {string}
         */
        DomainClaimStatus: "pending" | "verified" | "completed" | "blocked" | "expired" | "superseded" | "canceled" | "failed";
        /**
         * @description Why a claim whose TXT record was seen is not completed yet: its owner verified the domain within 72 hours, has sent
         *     from it within 24 hours, or has mail scheduled from it. Null before the record was seen.
         * @enum {string|null}
         */
        DomainClaimBlockedReason: "grace_period" | "recent_owner_activity" | "pending_scheduled_emails" | null;
        /** @description The TXT record to publish, beside the others that stand at its name. */
        DomainClaimRecord: {
            /** @constant */
            record: "Claim";
            /** @description Where to publish it; the root of the domain. */
            name: string;
            /** @constant */
            type: "TXT";
            /**
             * @description What your DNS host proposes.
             * @constant
             */
            ttl: "Auto";
            /** @enum {string} */
            status: "not_started" | "pending" | "verified" | "temporary_failure" | "failed";
            value: string;
            /** @description What was wrong with it when it was last looked up. */
            diagnosis: string | null;
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
        CreateTemplateRequest: {
            /** @description What the team calls it; recipients never see it. */
            name: string;
            /**
             * @description The HTML body, with `{{{KEY}}}` or `{{{KEY|default}}}` where a value is put in. html and text together hold at
             *     most 2 MB.
             */
            html: string;
            /**
             * @description A name of your choice to send and read by, one template's alone in the team: 1 to 100 letters, digits, dots,
             *     hyphens and underscores, beginning with a letter or digit, in this letter case, and not in the form of a UUID.
             */
            alias?: string | null;
            /** @description The sender of sends that name none, as `address` or `Name <address>`. */
            from?: string | null;
            /** @description The subject of sends that name none; one line of at most 998 bytes, with variables as in html. */
            subject?: string | null;
            /** @description Where answers to sends go that name nothing else. */
            reply_to?: string | string[] | null;
            /** @description The plain text body, with variables as in html. Without it, HTML goes out alone. */
            text?: string | null;
            /**
             * @description What a send may give values for. At most 50, each key once. These keys are reserved, because campaigns know them
             *     by themselves: FIRST_NAME, LAST_NAME, EMAIL, UNSUBSCRIBE_URL, PREFERENCES_URL, contact, this.
             */
            variables?: components["schemas"]["TemplateVariableRequest"][] | null;
        };
        UpdateTemplateRequest: {
            /** @description What the team calls it; recipients never see it. */
            name?: string;
            /**
             * @description The HTML body, with `{{{KEY}}}` or `{{{KEY|default}}}` where a value is put in. html and text together hold at
             *     most 2 MB.
             */
            html?: string;
            /**
             * @description A name of your choice to send and read by, one template's alone in the team: 1 to 100 letters, digits, dots,
             *     hyphens and underscores, beginning with a letter or digit, in this letter case, and not in the form of a UUID.
             */
            alias?: string | null;
            /** @description The sender of sends that name none, as `address` or `Name <address>`. */
            from?: string | null;
            /** @description The subject of sends that name none; one line of at most 998 bytes, with variables as in html. */
            subject?: string | null;
            /** @description Where answers to sends go that name nothing else. */
            reply_to?: string | string[] | null;
            /** @description The plain text body, with variables as in html. Without it, HTML goes out alone. */
            text?: string | null;
            /**
             * @description What a send may give values for. At most 50, each key once. These keys are reserved, because campaigns know them
             *     by themselves: FIRST_NAME, LAST_NAME, EMAIL, UNSUBSCRIBE_URL, PREFERENCES_URL, contact, this.
             */
            variables?: components["schemas"]["TemplateVariableRequest"][] | null;
        };
        TemplateVariableRequest: {
            key: string;
            /** @enum {string} */
            type: "string" | "number";
            /** @description Stands in where a send gives no value; without one, a send has to. Of the variable's type. */
            fallback_value?: string | number | null;
        };
        Template: {
            /** @constant */
            object: "template";
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description What was published last; the draft before that.
             */
            current_version_id: string;
            name: string;
            alias: string | null;
            from: string | null;
            subject: string | null;
            reply_to: string[];
            html: string;
            text: string | null;
            variables: components["schemas"]["TemplateVariable"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            status: components["schemas"]["TemplateStatus"];
            /**
             * Format: date-time
             * @description When it was published last.
             */
            published_at: string | null;
            /** @description Whether the content shown is not what sends use. */
            has_unpublished_versions: boolean;
        };
        TemplateVariable: {
            /** Format: uuid */
            id: string;
            key: string;
            /** @enum {string} */
            type: "string" | "number";
            fallback_value: string | number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        TemplateListItem: {
            /** Format: uuid */
            id: string;
            name: string;
            alias: string | null;
            status: components["schemas"]["TemplateStatus"];
            /** Format: date-time */
            published_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        TemplateList: {
            /** @constant */
            object: "list";
            /** @description Whether more templates follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["TemplateListItem"][];
        };
        TemplateReference: {
            /** @constant */
            object: "template";
            /** Format: uuid */
            id: string;
        };
        DeletedTemplate: {
            /** @constant */
            object: "template";
            /** Format: uuid */
            id: string;
            /** @constant */
            deleted: true;
        };
        /**
         * @description Whether it was ever published.
         * @enum {string}
         */
        TemplateStatus: "draft" | "published";
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
        /**
         * @description What an endpoint may subscribe to. Some of these nothing causes yet; they are accepted and never sent.
         * @enum {string}
         */
        WebhookEventType: "email.sent" | "email.scheduled" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.suppressed" | "email.canceled" | "domain.created" | "domain.updated" | "domain.deleted" | "suppression.added" | "suppression.removed" | "contact.created" | "contact.updated" | "contact.deleted" | "email.received" | "automation.run.started" | "automation.run.completed" | "automation.run.failed";
        /**
         * @description A disabled endpoint is sent nothing. Five days without a success disable an endpoint by themselves.
         * @enum {string}
         */
        WebhookStatus: "enabled" | "disabled";
        /**
         * @description pending: not tried yet; attempting: tried, and tried again at next_attempt_at; success: answered with 2xx;
         *     failed: the tenth attempt failed.
         * @enum {string}
         */
        WebhookEventStatus: "pending" | "attempting" | "success" | "failed";
        CreateWebhookRequest: {
            /** @description An absolute https URL without user name, password and fragment, on a public address. */
            endpoint: string;
            events: components["schemas"]["WebhookEventTypes"];
        };
        UpdateWebhookRequest: {
            /** @description An absolute https URL without user name, password and fragment, on a public address. */
            endpoint?: string;
            events?: components["schemas"]["WebhookEventTypes"];
            status?: components["schemas"]["WebhookStatus"];
        };
        /** @description The types of events to send; one named twice counts once. */
        WebhookEventTypes: components["schemas"]["WebhookEventType"][];
        Webhook: {
            /** @constant */
            object: "webhook";
            id: string;
            endpoint: string;
            events: components["schemas"]["WebhookEventType"][];
            status: components["schemas"]["WebhookStatus"];
            /**
             * @description Whole at creation, masked afterwards. `whsec_****` and nothing more is a secret that this installation cannot
             *     open; rotate it.
             */
            signing_secret: string;
            /** Format: date-time */
            created_at: string;
        };
        WebhookList: {
            /** @constant */
            object: "list";
            /** @description Whether more endpoints follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["Webhook"][];
        };
        WebhookReference: {
            /** @constant */
            object: "webhook";
            id: string;
        };
        DeletedWebhook: {
            /** @constant */
            object: "webhook";
            id: string;
            /** @constant */
            deleted: true;
        };
        RotatedWebhookSecret: {
            /** @constant */
            object: "webhook";
            id: string;
            /** @description Shown this once. */
            signing_secret: string;
        };
        WebhookEventListItem: {
            /** @description What deliveries carry as `svix-id`, replays included. */
            id: string;
            type: components["schemas"]["WebhookEventType"];
            status: components["schemas"]["WebhookEventStatus"];
            /** @description All attempts so far, those of replays included. */
            attempt_count: number;
            /** @description What the last attempt was answered with; null when it was not answered or there was none. */
            last_http_status: number | null;
            /** Format: date-time */
            created_at: string;
        };
        WebhookEventList: {
            /** @constant */
            object: "list";
            /** @description Whether more events follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["WebhookEventListItem"][];
        };
        WebhookEvent: {
            /** @constant */
            object: "webhook_event";
            /** @description What deliveries carry as `svix-id`, replays included. */
            id: string;
            type: components["schemas"]["WebhookEventType"];
            status: components["schemas"]["WebhookEventStatus"];
            /** @description All attempts so far, those of replays included. */
            attempt_count: number;
            /** @description What the last attempt was answered with; null when it was not answered or there was none. */
            last_http_status: number | null;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description Null when no attempt is to come.
             */
            next_attempt_at: string | null;
            payload: components["schemas"]["WebhookPayload"];
        };
        /** @description The signed body of every delivery. */
        WebhookPayload: {
            type: components["schemas"]["WebhookEventType"];
            /**
             * Format: date-time
             * @description When it happened.
             */
            created_at: string;
            /** @description What happened: of an email, a domain or a suppression, by the type. Fields may be added. */
            data: components["schemas"]["EmailEventData"] | components["schemas"]["DomainEventData"] | components["schemas"]["SuppressionEventData"];
        };
        /** @description The envelope of every email.* event, and one key more for the types that have something to add. */
        EmailEventData: {
            /** Format: uuid */
            email_id: string;
            from: string;
            /** @description Of a delivery, a bounce, a complaint, a delay or a suppression, the recipients it concerns. */
            to: string[];
            subject: string;
            message_id: string;
            /**
             * Format: date-time
             * @description When the email was created.
             */
            created_at: string;
            broadcast_id?: string;
            /** Format: uuid */
            template_id?: string;
            /** @description Name to value. */
            tags?: {
                [key: string]: string;
            };
            headers?: {
                name: string;
                value: string;
            }[];
            /** @description email.bounced */
            bounce?: {
                /** @enum {string} */
                type: "Permanent" | "Transient" | "Undetermined";
                /** @enum {string} */
                subType: "General" | "NoEmail" | "MailboxFull" | "MessageTooLarge" | "ContentRejected" | "AttachmentRejected" | "Undetermined";
                message: string;
                diagnosticCode: string[];
            };
            /** @description email.opened */
            open?: components["schemas"]["ReaderEvent"];
            /** @description email.clicked */
            click?: components["schemas"]["ReaderEvent"];
            /** @description email.failed */
            failed?: {
                reason: string;
            };
            /** @description email.suppressed */
            suppressed?: {
                /** @enum {string} */
                reason: "previous_bounce" | "previous_complaint" | "manual";
                /** @constant */
                type: "Suppressed";
                message: string;
                diagnosticCode: string[];
            };
            /** @description email.delivery_delayed */
            delay?: {
                type: string;
                /** Format: date-time */
                expirationTime: string;
                delayedRecipients: Record<string, never>[];
            };
        };
        /** @description Who opened the email, or followed a link in it. */
        ReaderEvent: {
            ipAddress: string;
            /** @description Of a click alone. */
            link?: string;
            /** Format: date-time */
            timestamp: string;
            userAgent: string;
        };
        /** @description domain.* */
        DomainEventData: {
            /** Format: uuid */
            id: string;
            name: string;
            status: components["schemas"]["DomainStatus"];
            /** Format: date-time */
            created_at: string;
            region: components["schemas"]["Region"];
            records: Record<string, never>[];
        };
        /** @description suppression.* */
        SuppressionEventData: {
            id?: string;
            email?: string;
            /** @enum {string} */
            origin?: "bounce" | "complaint" | "manual";
            source_id?: string | null;
            /** Format: date-time */
            created_at?: string;
        };
        WebhookEventReference: {
            /** @constant */
            object: "webhook_event";
            id: string;
        };
        WebhookAttempt: {
            /** @constant */
            object: "webhook_attempt";
            id: string;
            attempt_number: number;
            /** @description Null when there was no answer. */
            http_status_code: number | null;
            /** @description The body of your answer, of which 8 KB are kept; null when there was none. */
            response: string | null;
            /** @description What went wrong where there was no answer. */
            error: string | null;
            duration_ms: number;
            /** Format: date-time */
            sent_at: string;
        };
        WebhookAttemptList: {
            /** @constant */
            object: "list";
            /** @description Whether more attempts follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["WebhookAttempt"][];
        };
        UpdateTeamRequest: {
            /** @description Who says in marketing mail that it is the sender. */
            sender_name?: string;
            postal_address?: components["schemas"]["PostalAddressRequest"];
            /** @description Switches the AI helpers on. They send what is asked about, but no recipient addresses, to the provider of the model. */
            ai_assist_enabled?: boolean;
        };
        /** @description Where the sender can be reached by post. Countries without postal codes leave out `postal_code`. */
        PostalAddressRequest: {
            /** @description Street and number, or a post office box. */
            line1: string;
            /** @description Building, floor, care of. */
            line2?: string | null;
            city: string;
            /** @description State, province or county, where addresses have one. */
            state?: string | null;
            postal_code?: string | null;
            country: components["schemas"]["CountryCode"];
        };
        /**
         * @description ISO 3166-1 alpha-2, in capital letters.
         * @enum {string}
         */
        CountryCode: "AD" | "AE" | "AF" | "AG" | "AI" | "AL" | "AM" | "AO" | "AQ" | "AR" | "AS" | "AT" | "AU" | "AW" | "AX" | "AZ" | "BA" | "BB" | "BD" | "BE" | "BF" | "BG" | "BH" | "BI" | "BJ" | "BL" | "BM" | "BN" | "BO" | "BQ" | "BR" | "BS" | "BT" | "BV" | "BW" | "BY" | "BZ" | "CA" | "CC" | "CD" | "CF" | "CG" | "CH" | "CI" | "CK" | "CL" | "CM" | "CN" | "CO" | "CR" | "CU" | "CV" | "CW" | "CX" | "CY" | "CZ" | "DE" | "DJ" | "DK" | "DM" | "DO" | "DZ" | "EC" | "EE" | "EG" | "EH" | "ER" | "ES" | "ET" | "FI" | "FJ" | "FK" | "FM" | "FO" | "FR" | "GA" | "GB" | "GD" | "GE" | "GF" | "GG" | "GH" | "GI" | "GL" | "GM" | "GN" | "GP" | "GQ" | "GR" | "GS" | "GT" | "GU" | "GW" | "GY" | "HK" | "HM" | "HN" | "HR" | "HT" | "HU" | "ID" | "IE" | "IL" | "IM" | "IN" | "IO" | "IQ" | "IR" | "IS" | "IT" | "JE" | "JM" | "JO" | "JP" | "KE" | "KG" | "KH" | "KI" | "KM" | "KN" | "KP" | "KR" | "KW" | "KY" | "KZ" | "LA" | "LB" | "LC" | "LI" | "LK" | "LR" | "LS" | "LT" | "LU" | "LV" | "LY" | "MA" | "MC" | "MD" | "ME" | "MF" | "MG" | "MH" | "MK" | "ML" | "MM" | "MN" | "MO" | "MP" | "MQ" | "MR" | "MS" | "MT" | "MU" | "MV" | "MW" | "MX" | "MY" | "MZ" | "NA" | "NC" | "NE" | "NF" | "NG" | "NI" | "NL" | "NO" | "NP" | "NR" | "NU" | "NZ" | "OM" | "PA" | "PE" | "PF" | "PG" | "PH" | "PK" | "PL" | "PM" | "PN" | "PR" | "PS" | "PT" | "PW" | "PY" | "QA" | "RE" | "RO" | "RS" | "RU" | "RW" | "SA" | "SB" | "SC" | "SD" | "SE" | "SG" | "SH" | "SI" | "SJ" | "SK" | "SL" | "SM" | "SN" | "SO" | "SR" | "SS" | "ST" | "SV" | "SX" | "SY" | "SZ" | "TC" | "TD" | "TF" | "TG" | "TH" | "TJ" | "TK" | "TL" | "TM" | "TN" | "TO" | "TR" | "TT" | "TV" | "TW" | "TZ" | "UA" | "UG" | "UM" | "US" | "UY" | "UZ" | "VA" | "VC" | "VE" | "VG" | "VI" | "VN" | "VU" | "WF" | "WS" | "YE" | "YT" | "ZA" | "ZM" | "ZW";
        Team: {
            /** @constant */
            object: "team";
            /** Format: uuid */
            id: string;
            name: string;
            slug: string;
            /**
             * @description The keys of a suspended team are refused.
             * @enum {string}
             */
            risk_state: "normal" | "suspended";
            /** Format: date-time */
            created_at: string;
            plan: components["schemas"]["TeamPlan"];
            sender_identity: components["schemas"]["SenderIdentity"];
            ai_assist_enabled: boolean;
            /** @description There is no single sign-on connection. */
            sso: null;
            sending: components["schemas"]["TeamSending"];
        };
        TeamPlan: {
            code: string;
            name: string;
            limits: components["schemas"]["PlanLimits"];
        };
        PlanLimits: {
            /** @description Emails a calendar month (UTC). */
            included_emails: number;
            /** @description Emails a day (UTC); null for no limit. */
            daily_cap: number | null;
            domain_limit: number;
            webhook_endpoint_limit: number;
            contact_limit: number;
            /** @description Days that content and events are kept. */
            retention_days: number;
        };
        /** @description Who says in marketing mail that it is the sender. Both are null before they are set. */
        SenderIdentity: {
            sender_name: string | null;
            postal_address: components["schemas"]["PostalAddress"] | null;
        };
        PostalAddress: {
            line1: string;
            line2: string | null;
            city: string;
            state: string | null;
            postal_code: string | null;
            country: components["schemas"]["CountryCode"];
        };
        TeamSending: {
            /** @description The regions whose mail goes to the team's own verified domains and to the simulator only. */
            sandbox_regions: string[];
        };
        Usage: {
            /** @constant */
            object: "usage";
            emails: {
                daily: components["schemas"]["DailyEmailUsage"];
                monthly: components["schemas"]["MonthlyEmailUsage"];
            };
            contacts: components["schemas"]["UsageOfMany"];
            segments: components["schemas"]["UsageOfMany"];
            broadcasts: components["schemas"]["UsageOfMany"];
            ai_credits: {
                used: number;
                limit: number | null;
                /** Format: date-time */
                next_increase_at: string | null;
            };
            automation_runs: {
                used: number;
                limit: number;
                /** Format: date-time */
                resets_at: string;
            };
            domains: components["schemas"]["UsageOfMany"];
            /** @description Requests that all keys of the team may make together in `duration`. */
            rate_limit: {
                limit: number;
                /** @constant */
                duration: "1s";
            };
        };
        DailyEmailUsage: {
            /** @description What counts towards the limit. */
            used: number;
            /** @description Null where the plan has no daily limit. */
            limit: number | null;
            /** @description Emails accepted for sending. */
            sent: number;
            received: number;
            /**
             * Format: date-time
             * @description The next midnight (UTC).
             */
            resets_at: string;
        };
        MonthlyEmailUsage: {
            /** @description What counts towards the limit. */
            used: number;
            limit: number;
            /** @description Emails accepted for sending. */
            sent: number;
            received: number;
            /**
             * Format: date-time
             * @description The first of the next month (UTC).
             */
            resets_at: string;
        };
        UsageOfMany: {
            used: number;
            /** @description Null for no limit. */
            limit: number | null;
        };
        Log: {
            /** @constant */
            object: "log";
            /**
             * Format: uuid
             * @description The request's id.
             */
            id: string;
            /**
             * Format: date-time
             * @description When the request was received.
             */
            created_at: string;
            /** @description The path as it was called, without the query. */
            endpoint: string;
            /** @description The HTTP method. */
            method: string;
            /** @description The HTTP status of the answer. */
            response_status: number;
            /** @description At most the first 500 characters. */
            user_agent: string | null;
            /** @description The body of the request without its secrets; null when there was none. */
            request_body: unknown;
            /** @description The body of the answer without its secrets; null when none was kept. */
            response_body: unknown;
        };
        LogListItem: {
            /**
             * Format: uuid
             * @description The request's id.
             */
            id: string;
            /**
             * Format: date-time
             * @description When the request was received.
             */
            created_at: string;
            /** @description The path as it was called, without the query. */
            endpoint: string;
            /** @description The HTTP method. */
            method: string;
            /** @description The HTTP status of the answer. */
            response_status: number;
            /** @description At most the first 500 characters. */
            user_agent: string | null;
        };
        LogList: {
            /** @constant */
            object: "list";
            /** @description Whether more requests follow in this direction. */
            has_more: boolean;
            data: components["schemas"]["LogListItem"][];
        };
        /** @enum {string} */
        EmailMetric: "received" | "delivered" | "complained" | "suppressed" | "bounced" | "bounced_transient" | "bounced_permanent" | "bounced_undetermined" | "opened" | "clicked" | "unsubscribed" | "delivery_delayed" | "failed" | "sent" | "unique_opened" | "unique_clicked" | "delivery_rate" | "open_rate" | "click_rate" | "bounce_rate" | "complaint_rate" | "unsubscribe_rate";
        EmailMetrics: {
            /** @constant */
            object: "metrics";
            /**
             * Format: date-time
             * @description Where the range that was counted begins.
             */
            start_date: string;
            /**
             * Format: date-time
             * @description Where it ends; this moment is no part of it.
             */
            end_date: string;
            metrics: components["schemas"]["EmailMetric"][];
            dimensions: ("period" | "domain" | "email" | "broadcast")[];
            /** @enum {string} */
            granularity: "hourly" | "daily" | "weekly" | "monthly";
            totals: components["schemas"]["EmailMetricsTotals"];
            /** @description Absent without dimensions. */
            data?: components["schemas"]["EmailMetricsRow"][];
        };
        /** @description The metrics asked for. */
        EmailMetricsTotals: {
            received?: number;
            delivered?: number;
            complained?: number;
            suppressed?: number;
            bounced?: number;
            bounced_transient?: number;
            bounced_permanent?: number;
            bounced_undetermined?: number;
            opened?: number;
            clicked?: number;
            unsubscribed?: number;
            delivery_delayed?: number;
            failed?: number;
            sent?: number;
            unique_opened?: number;
            unique_clicked?: number;
            delivery_rate?: number;
            open_rate?: number;
            click_rate?: number;
            bounce_rate?: number;
            complaint_rate?: number;
            unsubscribe_rate?: number;
        };
        /** @description The metrics asked for, of one combination of the dimensions. */
        EmailMetricsRow: {
            /** @description The first day of the day, week or month, in the time zone asked for; of an hour, the moment it begins. */
            period?: string;
            /** Format: uuid */
            domain_id?: string;
            /** @description Absent when the domain has been deleted. */
            domain_name?: string;
            /** Format: uuid */
            email_id?: string;
            /** Format: uuid */
            broadcast_id?: string;
            /** @description Absent when the broadcast has been deleted. */
            broadcast_name?: string;
            received?: number;
            delivered?: number;
            complained?: number;
            suppressed?: number;
            bounced?: number;
            bounced_transient?: number;
            bounced_permanent?: number;
            bounced_undetermined?: number;
            opened?: number;
            clicked?: number;
            unsubscribed?: number;
            delivery_delayed?: number;
            failed?: number;
            sent?: number;
            unique_opened?: number;
            unique_clicked?: number;
            delivery_rate?: number;
            open_rate?: number;
            click_rate?: number;
            bounce_rate?: number;
            complaint_rate?: number;
            unsubscribe_rate?: number;
        };
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
            /** @description Present and true when another team has verified the domain name; it can be claimed. */
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
        /** @description The domain name is verified by another team, or mail of the name is delivered elsewhere. */
        DomainConflict: {
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
        /** @description Mail of the name is delivered elsewhere today, and that it should come here was not confirmed. */
        MxInUse: {
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
        /** @description This team has the domain verified already. */
        NothingToClaim: {
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
        /** @description The credential may not read this, or the team is over its quota and content is not shown until it is not. */
        ContentForbidden: {
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
        /** @description The dispatch of the email has begun, or it was never scheduled; nothing is recalled. */
        EmailDispatched: {
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
         * @description The id of the attachment.
         * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
         */
        AttachmentId: string;
        /**
         * @description Start after this attachment. Not together with `before`.
         * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
         */
        AfterAttachment: string;
        /**
         * @description End before this attachment. Not together with `after`.
         * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
         */
        BeforeAttachment: string;
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
         * @description The id of the template or its alias.
         * @example order-confirmation
         */
        Template: string;
        /**
         * @description Start after this template. Not together with `before`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05
         */
        AfterTemplate: string;
        /**
         * @description End before this template. Not together with `after`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05
         */
        BeforeTemplate: string;
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
        /**
         * @description The id of the endpoint.
         * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
         */
        WebhookId: string;
        /**
         * @description The id of the event, which its deliveries carry as `svix-id`.
         * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
         */
        WebhookEventId: string;
        /**
         * @description Start after this webhook. Not together with `before`.
         * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
         */
        AfterWebhook: string;
        /**
         * @description End before this webhook. Not together with `after`.
         * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
         */
        BeforeWebhook: string;
        /**
         * @description Start after this webhook event. Not together with `before`.
         * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
         */
        AfterWebhookEvent: string;
        /**
         * @description End before this webhook event. Not together with `after`.
         * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
         */
        BeforeWebhookEvent: string;
        /**
         * @description Start after this attempt. Not together with `before`.
         * @example atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09
         */
        AfterWebhookAttempt: string;
        /**
         * @description End before this attempt. Not together with `after`.
         * @example atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09
         */
        BeforeWebhookAttempt: string;
        /**
         * @description The id of the request, which its answer carries as `x-request-id`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
         */
        LogId: string;
        /**
         * @description Start after this request. Not together with `before`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
         */
        AfterLog: string;
        /**
         * @description End before this request. Not together with `after`.
         * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
         */
        BeforeLog: string;
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
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            422: components["responses"]["UnprocessableEmail"];
            429: components["responses"]["SendLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    sendBatch: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: a repeated request with the same key answers the first response again for 24 hours.
                 *     1 to 256 characters, chosen by you.
                 * @example digest-2026-11-20
                 */
                "Idempotency-Key"?: string;
                /**
                 * @description Whether one bad email refuses the batch (strict) or only itself (permissive).
                 * @example strict
                 */
                "x-batch-validation"?: "strict" | "permissive";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendBatchRequest"];
            };
        };
        responses: {
            /** @description The messages are recorded and will be sent. */
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
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77"
                     *         },
                     *         {
                     *           "id": "019a9c1e-7d53-7191-8d1c-5f7a3bd1c0aa"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["SentBatch"];
                };
            };
            400: components["responses"]["InvalidSend"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["SendForbidden"];
            404: components["responses"]["NotFound"];
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
            403: components["responses"]["ContentForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateEmail: {
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
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "scheduled_at": "2026-11-21T08:00:00.000Z"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateEmailRequest"];
            };
        };
        responses: {
            /** @description Done. */
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
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77"
                     *     }
                     */
                    "application/json": components["schemas"]["ChangedEmail"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["EmailDispatched"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cancelEmail: {
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
            /** @description Done. */
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
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77"
                     *     }
                     */
                    "application/json": components["schemas"]["ChangedEmail"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["EmailDispatched"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createShare: {
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
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "expires_in": "2 hours"
                 *     }
                 */
                "application/json": components["schemas"]["CreateShareRequest"];
            };
        };
        responses: {
            /** @description The link. */
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
                     *       "url": "https://mail.example.com/share/rs_0nLzR2bH8uYw3kQv6tXe9cJa1mSf4dPg"
                     *     }
                     */
                    "application/json": components["schemas"]["Share"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ContentForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    revokeShares: {
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
            /** @description The email has no link any more. */
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
                     *       "revoked": 1
                     *     }
                     */
                    "application/json": components["schemas"]["RevokedShares"];
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
    getSharePage: {
        parameters: {
            query?: {
                /**
                 * @description Whether images are loaded from the addresses that the email names.
                 * @example 1
                 */
                images?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The last part of the link.
                 * @example rs_0nLzR2bH8uYw3kQv6tXe9cJa1mSf4dPg
                 */
                token: string;
            };
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
            /** @description There is no such link, or no longer. */
            404: {
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
                     *       "statusCode": 404,
                     *       "name": "not_found",
                     *       "message": "Share link not found."
                     *     }
                     */
                    "application/json": components["schemas"]["Error"];
                    /** @example <!doctype html> */
                    "text/html": string;
                };
            };
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAttachments: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this attachment. Not together with `before`.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                after?: components["parameters"]["AfterAttachment"];
                /**
                 * @description End before this attachment. Not together with `after`.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                before?: components["parameters"]["BeforeAttachment"];
            };
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
            /** @description One page of attachments. */
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
                     *           "id": "att_019a9c1e7d527c3a9a540b8f4c1f2e05",
                     *           "filename": "logo.png",
                     *           "content_type": "image/png",
                     *           "content_disposition": "inline",
                     *           "content_id": "logo",
                     *           "size": 5120,
                     *           "download_url": "https://mail.example.com/emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77/attachments/att_019a9c1e7d527c3a9a540b8f4c1f2e05/download?expires=1795167900&token=ZXhhbXBsZQ",
                     *           "expires_at": "2026-11-20T09:45:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["AttachmentList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ContentForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAttachment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
                /**
                 * @description The id of the attachment.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                attachment_id: components["parameters"]["AttachmentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The attachment. */
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
                     *       "object": "attachment",
                     *       "id": "att_019a9c1e7d527c3a9a540b8f4c1f2e05",
                     *       "filename": "receipt.pdf",
                     *       "content_type": "application/pdf",
                     *       "content_disposition": "attachment",
                     *       "size": 20480,
                     *       "download_url": "https://mail.example.com/emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77/attachments/att_019a9c1e7d527c3a9a540b8f4c1f2e05/download?expires=1795167900&token=ZXhhbXBsZQ",
                     *       "expires_at": "2026-11-20T09:45:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Attachment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ContentForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["InvalidParameter"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadAttachment: {
        parameters: {
            query: {
                /**
                 * @description Until when the link is good, in seconds since 1970.
                 * @example 1795167900
                 */
                expires: number;
                /**
                 * @description What proves the link.
                 * @example ZXhhbXBsZQ
                 */
                token: string;
            };
            header?: never;
            path: {
                /**
                 * @description The id of the email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id: components["parameters"]["EmailId"];
                /**
                 * @description The id of the attachment.
                 * @example att_019a9c1e7d527c3a9a540b8f4c1f2e05
                 */
                attachment_id: components["parameters"]["AttachmentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example Thank you. */
                    "*/*": string;
                };
            };
            403: components["responses"]["UserAgentRequired"];
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
                     *       "tls": "opportunistic",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rk3fa94c01._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC",
                     *           "required": true,
                     *           "key_status": "active",
                     *           "diagnosis": null
                     *         },
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10,
                     *           "required": true,
                     *           "diagnosis": null
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
            409: components["responses"]["DomainConflict"];
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
                     *       "tls": "opportunistic",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rk3fa94c01._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC",
                     *           "required": true,
                     *           "key_status": "active",
                     *           "diagnosis": null
                     *         },
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10,
                     *           "required": true,
                     *           "diagnosis": null
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
            409: components["responses"]["MxInUse"];
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
    regenerateDkim: {
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
                 *       "key_bits": 2048
                 *     }
                 */
                "application/json": components["schemas"]["RegenerateDkimRequest"];
            };
        };
        responses: {
            /** @description The domain with the new records to publish. */
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
                     *       "tls": "opportunistic",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rk3fa94c01._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC",
                     *           "required": true,
                     *           "key_status": "active",
                     *           "diagnosis": null
                     *         },
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10,
                     *           "required": true,
                     *           "diagnosis": null
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
            404: components["responses"]["NotFound"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rotateDkim: {
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
            /** @description The domain with the incoming records to publish. */
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
                     *       "tls": "opportunistic",
                     *       "capabilities": {
                     *         "sending": "pending",
                     *         "receiving": "unsupported"
                     *       },
                     *       "records": [
                     *         {
                     *           "record": "DKIM",
                     *           "name": "rk3fa94c01._domainkey.mail.example.com",
                     *           "type": "TXT",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC",
                     *           "required": true,
                     *           "key_status": "active",
                     *           "diagnosis": null
                     *         },
                     *         {
                     *           "record": "SPF",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "ttl": "Auto",
                     *           "status": "not_started",
                     *           "value": "feedback.rasket.example.com",
                     *           "priority": 10,
                     *           "required": true,
                     *           "diagnosis": null
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
            404: components["responses"]["NotFound"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDomainZone: {
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
            /** @description The lines. */
            200: {
                headers: {
                    "ratelimit-limit": components["headers"]["RateLimitLimit"];
                    "ratelimit-remaining": components["headers"]["RateLimitRemaining"];
                    "ratelimit-reset": components["headers"]["RateLimitReset"];
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example send.mail.example.com. 300 IN MX 10 mx.rasket.example.com. */
                    "text/plain": string;
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
    configureDomainDns: {
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
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "provider": "office",
                 *       "dry_run": true
                 *     }
                 */
                "application/json": components["schemas"]["ConfigureDomainDnsRequest"];
            };
        };
        responses: {
            /** @description What was changed, or would be. */
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
                     *       "object": "dns_configuration",
                     *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "provider": "office",
                     *       "zone": "example.com",
                     *       "dry_run": true,
                     *       "changes": [
                     *         {
                     *           "action": "create",
                     *           "name": "send.mail.example.com",
                     *           "type": "MX",
                     *           "value": "mx.rasket.example.com",
                     *           "ttl": 300,
                     *           "priority": 10
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["DnsConfiguration"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description The zone was changed by somebody else at the same moment, or another team has the name verified; nothing was changed. */
            409: {
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
                     *       "statusCode": 409,
                     *       "name": "resource_locked",
                     *       "message": "The zone example.com changed while its records were compared; nothing was changed. Try again."
                     *     }
                     */
                    "application/json": components["schemas"]["Error"];
                };
            };
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    claimDomain: {
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
                 *       "region": "eu-west-1"
                 *     }
                 */
                "application/json": components["schemas"]["ClaimDomainRequest"];
            };
        };
        responses: {
            /** @description This claim is open already. */
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
                     *       "object": "domain_claim",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31",
                     *       "name": "mail.example.com",
                     *       "status": "pending",
                     *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "region": "eu-west-1",
                     *       "record": {
                     *         "record": "Claim",
                     *         "name": "mail.example.com",
                     *         "type": "TXT",
                     *         "ttl": "Auto",
                     *         "status": "not_started",
                     *         "value": "rasket-domain-verification=4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e",
                     *         "diagnosis": null
                     *       },
                     *       "blocked_reason": null,
                     *       "failure_reason": null,
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "expires_at": "2026-11-27T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainClaim"];
                };
            };
            /** @description The claim was opened. */
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
                     *       "object": "domain_claim",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31",
                     *       "name": "mail.example.com",
                     *       "status": "pending",
                     *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "region": "eu-west-1",
                     *       "record": {
                     *         "record": "Claim",
                     *         "name": "mail.example.com",
                     *         "type": "TXT",
                     *         "ttl": "Auto",
                     *         "status": "not_started",
                     *         "value": "rasket-domain-verification=4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e",
                     *         "diagnosis": null
                     *       },
                     *       "blocked_reason": null,
                     *       "failure_reason": null,
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "expires_at": "2026-11-27T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainClaim"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["NothingToClaim"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDomainClaim: {
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
            /** @description The claim. */
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
                     *       "object": "domain_claim",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31",
                     *       "name": "mail.example.com",
                     *       "status": "pending",
                     *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "region": "eu-west-1",
                     *       "record": {
                     *         "record": "Claim",
                     *         "name": "mail.example.com",
                     *         "type": "TXT",
                     *         "ttl": "Auto",
                     *         "status": "not_started",
                     *         "value": "rasket-domain-verification=4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e",
                     *         "diagnosis": null
                     *       },
                     *       "blocked_reason": null,
                     *       "failure_reason": null,
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "expires_at": "2026-11-27T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainClaim"];
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
    verifyDomainClaim: {
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
            /** @description The claim after the check. */
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
                     *       "object": "domain_claim",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31",
                     *       "name": "mail.example.com",
                     *       "status": "pending",
                     *       "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "region": "eu-west-1",
                     *       "record": {
                     *         "record": "Claim",
                     *         "name": "mail.example.com",
                     *         "type": "TXT",
                     *         "ttl": "Auto",
                     *         "status": "not_started",
                     *         "value": "rasket-domain-verification=4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e",
                     *         "diagnosis": null
                     *       },
                     *       "blocked_reason": null,
                     *       "failure_reason": null,
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "expires_at": "2026-11-27T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DomainClaim"];
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
    listTemplates: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this template. Not together with `before`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05
                 */
                after?: components["parameters"]["AfterTemplate"];
                /**
                 * @description End before this template. Not together with `after`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05
                 */
                before?: components["parameters"]["BeforeTemplate"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of templates. */
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
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05",
                     *           "name": "Order confirmation",
                     *           "alias": "order-confirmation",
                     *           "status": "published",
                     *           "published_at": "2026-11-20T09:31:00.000Z",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "updated_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["TemplateList"];
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
    createTemplate: {
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
                 *       "name": "Order confirmation",
                 *       "html": "<p>{{{PRODUCT}}} for {{{PRICE|nothing}}}</p>",
                 *       "from": "Example <orders@mail.example.com>",
                 *       "subject": "Your order of {{{PRODUCT}}}",
                 *       "reply_to": [
                 *         "support@example.com"
                 *       ],
                 *       "text": "{{{PRODUCT}}} for {{{PRICE|nothing}}}",
                 *       "variables": [
                 *         {
                 *           "key": "PRODUCT",
                 *           "type": "string",
                 *           "fallback_value": "your item"
                 *         },
                 *         {
                 *           "key": "PRICE",
                 *           "type": "number"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CreateTemplateRequest"];
            };
        };
        responses: {
            /** @description The template was created as a draft. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05"
                     *     }
                     */
                    "application/json": components["schemas"]["TemplateReference"];
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
    getTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05",
                     *       "current_version_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e06",
                     *       "name": "Order confirmation",
                     *       "alias": "order-confirmation",
                     *       "from": "Example <orders@mail.example.com>",
                     *       "subject": "Your order of {{{PRODUCT}}}",
                     *       "reply_to": [
                     *         "support@example.com"
                     *       ],
                     *       "html": "<p>{{{PRODUCT}}} for {{{PRICE|nothing}}}</p>",
                     *       "text": "{{{PRODUCT}}} for {{{PRICE|nothing}}}",
                     *       "variables": [
                     *         {
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e07",
                     *           "key": "PRODUCT",
                     *           "type": "string",
                     *           "fallback_value": "your item",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "updated_at": "2026-11-20T09:30:00.000Z"
                     *         },
                     *         {
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e08",
                     *           "key": "PRICE",
                     *           "type": "number",
                     *           "fallback_value": null,
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "updated_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ],
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "updated_at": "2026-11-20T09:30:00.000Z",
                     *       "status": "published",
                     *       "published_at": "2026-11-20T09:31:00.000Z",
                     *       "has_unpublished_versions": false
                     *     }
                     */
                    "application/json": components["schemas"]["Template"];
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
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template and all its versions were deleted. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedTemplate"];
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
    updateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Order confirmation (new)",
                 *       "subject": "Thank you for your order of {{{PRODUCT}}}"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateTemplateRequest"];
            };
        };
        responses: {
            /** @description The template was changed. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05"
                     *     }
                     */
                    "application/json": components["schemas"]["TemplateReference"];
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
    publishTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template is published. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05"
                     *     }
                     */
                    "application/json": components["schemas"]["TemplateReference"];
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
    duplicateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the template or its alias.
                 * @example order-confirmation
                 */
                template: components["parameters"]["Template"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The copy was created as a draft. */
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
                     *       "object": "template",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05"
                     *     }
                     */
                    "application/json": components["schemas"]["TemplateReference"];
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
    listWebhooks: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this webhook. Not together with `before`.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                after?: components["parameters"]["AfterWebhook"];
                /**
                 * @description End before this webhook. Not together with `after`.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                before?: components["parameters"]["BeforeWebhook"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of endpoints. */
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
                     *           "object": "webhook",
                     *           "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *           "endpoint": "https://example.com/hooks",
                     *           "events": [
                     *             "email.delivered",
                     *             "email.bounced"
                     *           ],
                     *           "status": "enabled",
                     *           "signing_secret": "whsec_****b0Zf",
                     *           "created_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookList"];
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
    createWebhook: {
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
                 *       "endpoint": "https://example.com/hooks",
                 *       "events": [
                 *         "email.delivered",
                 *         "email.bounced"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CreateWebhookRequest"];
            };
        };
        responses: {
            /** @description The endpoint was added. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *       "endpoint": "https://example.com/hooks",
                     *       "events": [
                     *         "email.delivered",
                     *         "email.bounced"
                     *       ],
                     *       "status": "enabled",
                     *       "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                     *       "created_at": "2026-11-20T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Webhook"];
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
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *       "endpoint": "https://example.com/hooks",
                     *       "events": [
                     *         "email.delivered",
                     *         "email.bounced"
                     *       ],
                     *       "status": "enabled",
                     *       "signing_secret": "whsec_****b0Zf",
                     *       "created_at": "2026-11-20T09:30:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Webhook"];
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
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint was removed. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedWebhook"];
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
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "endpoint": "https://example.com/hooks",
                 *       "events": [
                 *         "email.bounced"
                 *       ],
                 *       "status": "disabled"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateWebhookRequest"];
            };
        };
        responses: {
            /** @description The endpoint was changed. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookReference"];
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
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret was replaced. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *       "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
                     *     }
                     */
                    "application/json": components["schemas"]["RotatedWebhookSecret"];
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
    rotateWebhookSigningSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret was replaced. */
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
                     *       "object": "webhook",
                     *       "id": "wh_019a9c1e7d527c3a9a540b8f4c1f2e01",
                     *       "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
                     *     }
                     */
                    "application/json": components["schemas"]["RotatedWebhookSecret"];
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
    listWebhookEvents: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this webhook event. Not together with `before`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                after?: components["parameters"]["AfterWebhookEvent"];
                /**
                 * @description End before this webhook event. Not together with `after`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                before?: components["parameters"]["BeforeWebhookEvent"];
                /**
                 * @description Only events in this state.
                 * @example failed
                 */
                status?: "pending" | "attempting" | "success" | "failed";
                /**
                 * @description Only events of this type.
                 * @example email.bounced
                 */
                type?: components["schemas"]["WebhookEventType"];
                /**
                 * @description Only events created at this ISO 8601 instant or later. A date without its time of day is refused.
                 * @example 2026-11-01T00:00:00.000Z
                 */
                start_date?: string;
                /**
                 * @description Only events created at this ISO 8601 instant or earlier. A date without its time of day is refused.
                 * @example 2026-11-20T23:59:59.999Z
                 */
                end_date?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of events. */
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
                     *           "id": "msg_019a9c1e7d527c3a9a540b8f4c1f2e04",
                     *           "type": "email.delivered",
                     *           "status": "success",
                     *           "attempt_count": 1,
                     *           "last_http_status": 200,
                     *           "created_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEventList"];
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
    getWebhookEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event. */
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
                     *       "object": "webhook_event",
                     *       "id": "msg_019a9c1e7d527c3a9a540b8f4c1f2e04",
                     *       "type": "email.delivered",
                     *       "status": "success",
                     *       "attempt_count": 1,
                     *       "last_http_status": 200,
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "next_attempt_at": null,
                     *       "payload": {
                     *         "type": "email.delivered",
                     *         "created_at": "2026-11-20T09:30:00.000Z",
                     *         "data": {
                     *           "email_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77",
                     *           "from": "shop@example.com",
                     *           "to": [
                     *             "someone@example.org"
                     *           ],
                     *           "subject": "Your order",
                     *           "message_id": "<019a9c1e7d527c3a9a540b8f4c1f2e77@example.com>",
                     *           "created_at": "2026-11-20T09:29:58.000Z"
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEvent"];
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
    listWebhookAttempts: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this attempt. Not together with `before`.
                 * @example atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09
                 */
                after?: components["parameters"]["AfterWebhookAttempt"];
                /**
                 * @description End before this attempt. Not together with `after`.
                 * @example atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09
                 */
                before?: components["parameters"]["BeforeWebhookAttempt"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of attempts. */
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
                     *           "object": "webhook_attempt",
                     *           "id": "atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09",
                     *           "attempt_number": 1,
                     *           "http_status_code": 200,
                     *           "response": "OK",
                     *           "error": null,
                     *           "duration_ms": 41,
                     *           "sent_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookAttemptList"];
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
    replayWebhookEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
                /**
                 * @description The id of the event, which its deliveries carry as `svix-id`.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                event_id: components["parameters"]["WebhookEventId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event will be sent at once. */
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
                     *       "object": "webhook_event",
                     *       "id": "msg_019a9c1e7d527c3a9a540b8f4c1f2e04"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEventReference"];
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
    listParkedWebhookEvents: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this webhook event, towards younger ones.
                 * @example msg_019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                after?: string;
                /**
                 * @description Only events created at this ISO 8601 instant or later. A date without its time of day is refused.
                 * @example 2026-11-01T00:00:00.000Z
                 */
                start_date?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint.
                 * @example wh_019a9c1e7d527c3a9a540b8f4c1f2e01
                 */
                webhook_id: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The oldest parked events. */
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
                     *           "id": "msg_019a9c1e7d527c3a9a540b8f4c1f2e04",
                     *           "type": "email.delivered",
                     *           "status": "pending",
                     *           "attempt_count": 0,
                     *           "last_http_status": null,
                     *           "created_at": "2026-11-20T09:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEventList"];
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
    listenWebhooks: {
        parameters: {
            query?: {
                /**
                 * @description The types of events to send, separated by commas. The default is all of them.
                 * @example email.delivered,email.bounced
                 */
                events?: string;
            };
            header?: {
                /**
                 * @description The `id` of the last frame that was received of an earlier stream.
                 * @example lsn_019a9c1e7d527c3a9a540b8f4c1f2e05.1.019a9c1e7d527c3a9a540b8f4c1f2e04
                 */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. It goes on until one of the two ends it. */
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
                     * @example event: listening
                     *     data: {"object":"webhook_listener"}
                     */
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTeam: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The team. */
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
                     *       "object": "team",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "name": "Marketing",
                     *       "slug": "marketing",
                     *       "risk_state": "normal",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "plan": {
                     *         "code": "standard",
                     *         "name": "Standard",
                     *         "limits": {
                     *           "included_emails": 1000000,
                     *           "daily_cap": null,
                     *           "domain_limit": 100,
                     *           "webhook_endpoint_limit": 20,
                     *           "contact_limit": 100000,
                     *           "retention_days": 30
                     *         }
                     *       },
                     *       "sender_identity": {
                     *         "sender_name": "Example GmbH",
                     *         "postal_address": {
                     *           "line1": "Musterstraße 1",
                     *           "line2": null,
                     *           "city": "Berlin",
                     *           "state": null,
                     *           "postal_code": "10115",
                     *           "country": "DE"
                     *         }
                     *       },
                     *       "ai_assist_enabled": false,
                     *       "sso": null,
                     *       "sending": {
                     *         "sandbox_regions": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Team"];
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
    updateTeam: {
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
                 *       "sender_name": "Example GmbH",
                 *       "postal_address": {
                 *         "line1": "Musterstraße 1",
                 *         "city": "Berlin",
                 *         "postal_code": "10115",
                 *         "country": "DE"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["UpdateTeamRequest"];
            };
        };
        responses: {
            /** @description The team as it is now. */
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
                     *       "object": "team",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *       "name": "Marketing",
                     *       "slug": "marketing",
                     *       "risk_state": "normal",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "plan": {
                     *         "code": "standard",
                     *         "name": "Standard",
                     *         "limits": {
                     *           "included_emails": 1000000,
                     *           "daily_cap": null,
                     *           "domain_limit": 100,
                     *           "webhook_endpoint_limit": 20,
                     *           "contact_limit": 100000,
                     *           "retention_days": 30
                     *         }
                     *       },
                     *       "sender_identity": {
                     *         "sender_name": "Example GmbH",
                     *         "postal_address": {
                     *           "line1": "Musterstraße 1",
                     *           "line2": null,
                     *           "city": "Berlin",
                     *           "state": null,
                     *           "postal_code": "10115",
                     *           "country": "DE"
                     *         }
                     *       },
                     *       "ai_assist_enabled": false,
                     *       "sso": null,
                     *       "sending": {
                     *         "sandbox_regions": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Team"];
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
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage at this moment. */
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
                     *       "object": "usage",
                     *       "emails": {
                     *         "daily": {
                     *           "used": 12,
                     *           "limit": null,
                     *           "sent": 12,
                     *           "received": 0,
                     *           "resets_at": "2026-11-21T00:00:00.000Z"
                     *         },
                     *         "monthly": {
                     *           "used": 340,
                     *           "limit": 1000000,
                     *           "sent": 340,
                     *           "received": 0,
                     *           "resets_at": "2026-12-01T00:00:00.000Z"
                     *         }
                     *       },
                     *       "contacts": {
                     *         "used": 0,
                     *         "limit": 100000
                     *       },
                     *       "segments": {
                     *         "used": 0,
                     *         "limit": null
                     *       },
                     *       "broadcasts": {
                     *         "used": 0,
                     *         "limit": null
                     *       },
                     *       "ai_credits": {
                     *         "used": 0,
                     *         "limit": 0,
                     *         "next_increase_at": null
                     *       },
                     *       "automation_runs": {
                     *         "used": 0,
                     *         "limit": 0,
                     *         "resets_at": "2026-12-01T00:00:00.000Z"
                     *       },
                     *       "domains": {
                     *         "used": 1,
                     *         "limit": 100
                     *       },
                     *       "rate_limit": {
                     *         "limit": 10,
                     *         "duration": "1s"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Usage"];
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
    listLogs: {
        parameters: {
            query?: {
                /**
                 * @description How many items to answer with.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Start after this request. Not together with `before`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
                 */
                after?: components["parameters"]["AfterLog"];
                /**
                 * @description End before this request. Not together with `after`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
                 */
                before?: components["parameters"]["BeforeLog"];
                /**
                 * @description Only requests refused or failed with this HTTP status.
                 * @example 422
                 */
                response_status?: number;
                /**
                 * @description Only requests received at this ISO 8601 time or later.
                 * @example 2026-11-01T00:00:00.000Z
                 */
                start_date?: string;
                /**
                 * @description Only requests received at this ISO 8601 time or earlier.
                 * @example 2026-11-20T23:59:59.999Z
                 */
                end_date?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of requests. */
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
                     *           "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55",
                     *           "created_at": "2026-11-20T09:30:00.000Z",
                     *           "endpoint": "/emails",
                     *           "method": "POST",
                     *           "response_status": 200,
                     *           "user_agent": "my-shop/2.1"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["LogList"];
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
    getLog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the request, which its answer carries as `x-request-id`.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
                 */
                log_id: components["parameters"]["LogId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request and its answer. */
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
                     *       "object": "log",
                     *       "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55",
                     *       "created_at": "2026-11-20T09:30:00.000Z",
                     *       "endpoint": "/api-keys",
                     *       "method": "POST",
                     *       "response_status": 201,
                     *       "user_agent": "my-shop/2.1",
                     *       "request_body": {
                     *         "name": "Billing service"
                     *       },
                     *       "response_body": {
                     *         "id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02",
                     *         "token": "[redacted]"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Log"];
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
    getEmailMetrics: {
        parameters: {
            query?: {
                /**
                 * @description Where the range begins: an ISO 8601 date, which is a day of `timezone`, or a time. The default is 7 × 24 hours
                 *     before `end_date`.
                 * @example 2026-11-01
                 */
                start_date?: string;
                /**
                 * @description Where the range ends: an ISO 8601 date, which is a whole day of `timezone`, or a time. The future counts as
                 *     now, which is the default.
                 * @example 2026-11-14
                 */
                end_date?: string;
                /**
                 * @description The IANA time zone whose days, weeks and months are meant.
                 * @example Europe/Berlin
                 */
                timezone?: string;
                /**
                 * @description How long a period is, where `dimensions` has `period`.
                 * @example daily
                 */
                granularity?: "hourly" | "daily" | "weekly" | "monthly";
                /**
                 * @description The metrics to answer, separated by commas. The default is all of them.
                 * @example sent,delivered,open_rate
                 */
                metrics?: string;
                /**
                 * @description What to break the numbers down by, separated by commas: `period`, `domain`, `email` and `broadcast`. `email`
                 *     and `broadcast` exclude each other. With `email` but without `email_id` the rows are those of the emails that
                 *     were accepted in the range, of `domain_id` where it is given, of which there may be up to 1000. `domain_id` is
                 *     looked for among up to 20,000 emails of the range.
                 * @example period,domain
                 */
                dimensions?: string;
                /**
                 * @description Only mail from these domains, up to 100 ids separated by commas.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01
                 */
                domain_id?: string;
                /**
                 * @description Only these emails, up to 100 ids separated by commas; counted from their events. Not together with a broadcast.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77
                 */
                email_id?: string;
                /**
                 * @description Only mail of these broadcasts, up to 100 ids separated by commas. Not together with an email.
                 * @example 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55
                 */
                broadcast_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The totals, and rows where dimensions were asked for. */
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
                     *       "object": "metrics",
                     *       "start_date": "2026-11-13T00:00:00.000Z",
                     *       "end_date": "2026-11-15T00:00:00.000Z",
                     *       "metrics": [
                     *         "sent",
                     *         "delivered",
                     *         "delivery_rate"
                     *       ],
                     *       "dimensions": [
                     *         "period",
                     *         "domain"
                     *       ],
                     *       "granularity": "daily",
                     *       "totals": {
                     *         "sent": 1204,
                     *         "delivered": 1180,
                     *         "delivery_rate": 98.01
                     *       },
                     *       "data": [
                     *         {
                     *           "period": "2026-11-13",
                     *           "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *           "domain_name": "mail.example.com",
                     *           "sent": 604,
                     *           "delivered": 590,
                     *           "delivery_rate": 97.68
                     *         },
                     *         {
                     *           "period": "2026-11-14",
                     *           "domain_id": "019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01",
                     *           "domain_name": "mail.example.com",
                     *           "sent": 600,
                     *           "delivered": 590,
                     *           "delivery_rate": 98.33
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["EmailMetrics"];
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
