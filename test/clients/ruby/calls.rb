# frozen_string_literal: true

# Calls every method of the official Ruby client and reports each call.
require_relative "report"
require "resend"

Resend.api_key = ENV.fetch("RESEND_API_KEY")

LIST = %w[object has_more data].freeze
# The client names no fields: these are the ones that its README and examples read.
ID = %w[id].freeze
DELETED = %w[id deleted].freeze

emails = Resend::Emails
sent = call(
  emails, :send,
  message(
    html: "<p>It works.</p>", cc: "c@example.org", bcc: ["b@example.org"], reply_to: "answers@example.com",
    headers: { "X-Order": "7" }, tags: [{ name: "kind", value: "receipt" }]
  ),
  reads: ID
)
call(emails, :send, message, options: { idempotency_key: "receipt-1" }, reads: ID)
call(emails, :send, message, options: { idempotency_key: "receipt-1" }, reads: ID)
# Bytes as a list of integers, as in examples/with_attachments.rb.
with_files = call(
  emails, :send,
  message(
    html: '<img src="cid:logo">',
    attachments: [
      { filename: "bytes.txt", content: "a file".bytes },
      { filename: "base64.txt", content: "YSBmaWxl", content_type: "text/plain" },
      { filename: "logo.png", content: "\x89PNG".b.bytes, content_id: "logo" }
    ]
  ),
  reads: ID
)
call(
  emails, :send, message(headers: { "List-Unsubscribe": "<https://example.org/u>" }),
  refused: "List-Unsubscribe is set by the server"
)
call(emails, :send, message(scheduled_at: "in 1 hour"), refused: "scheduled_at of an email is an ISO 8601 time")
call(emails, :get, sent[:id], reads: %w[object id to from created_at subject html text last_event])
call(emails, :list, reads: LIST)
call(emails, :list, { limit: 2, after: with_files[:id] }, reads: LIST)
files = call(emails::Attachments, :list, { email_id: with_files[:id] }, reads: LIST)
call(emails::Attachments, :list, { email_id: with_files[:id], limit: 1 }, reads: LIST)
call(
  emails::Attachments, :get, { email_id: with_files[:id], id: files[:data][0]["id"] },
  reads: %w[object id filename size content_type download_url expires_at]
)
scheduled = call(emails, :send, message(scheduled_at: FIXTURES["in_an_hour"]), reads: ID)
call(emails, :update, { email_id: scheduled[:id], scheduled_at: FIXTURES["in_two_hours"] }, reads: ID)
call(emails, :cancel, scheduled[:id], reads: ID)
call(emails, :share, sent[:id], { expires_in: "2 hours" }, reads: %w[object id url])
call(emails, :share, sent[:id], reads: %w[object id url])
call(Resend::Batch, :send, [message, message], reads: %w[data])
call(
  Resend::Batch, :send, [message, message(to: "no address")],
  options: { batch_validation: "permissive", idempotency_key: "batch-1" }, reads: %w[data errors]
)

receiving = emails::Receiving
received = FIXTURES["received"]
call(receiving, :list, reads: LIST)
call(receiving, :list, { limit: 1 }, reads: LIST)
call(receiving, :get, received, reads: %w[object id to from created_at subject html text headers])
call(receiving, :get, received, { html_format: "cid" }, reads: %w[object id html])
arrived = call(receiving::Attachments, :list, { email_id: received }, reads: LIST)
call(
  receiving::Attachments, :get, { email_id: received, id: arrived[:data][0]["id"] },
  reads: %w[object id filename content_type download_url expires_at]
)

keys = Resend::ApiKeys
key = call(keys, :create, { name: "Sending", permission: "sending_access" }, reads: %w[id token])
call(keys, :list, reads: LIST)
call(keys, :update, { id: key[:id], name: "Renamed" }, reads: ID)
call(keys, :remove, key[:id])

domains = Resend::Domains
domain = call(
  domains, :create, { name: "ruby.example.com", region: "us-east-1", custom_return_path: "back" },
  reads: %w[id name status records region]
)
call(domains, :get, domain[:id], reads: %w[object id name status records region created_at])
call(domains, :update, { id: domain[:id], open_tracking: true, click_tracking: true, tls: "enforced" }, reads: ID)
call(domains, :verify, domain[:id], reads: %w[object id])
call(domains, :list, reads: LIST)
call(domains, :remove, domain[:id], reads: DELETED)
claim = call(domains::Claims, :create, { name: FIXTURES["claimable"], region: "us-east-1" }, reads: %w[id status record domain_id])
call(domains::Claims, :get, claim[:domain_id], reads: %w[id status])
call(domains::Claims, :verify, claim[:domain_id], reads: %w[id status])

segments = Resend::Segments
segment = call(segments, :create, { name: "Readers" }, reads: %w[object id name])
call(segments, :get, segment[:id], reads: %w[object id name created_at])
call(segments, :list, { limit: 5 }, reads: LIST)
audience = call(Resend::Audiences, :create, { name: "Subscribers" }, reads: %w[object id name])

properties = Resend::ContactProperties
plan = call(properties, :create, { key: "plan", type: "string", fallback_value: "free" }, reads: %w[object id])
call(properties, :get, plan[:id], reads: %w[object id key type fallback_value created_at])
call(properties, :update, { id: plan[:id], fallback_value: "basic" }, reads: %w[object id])
call(properties, :list, { limit: 5 }, reads: LIST)

topics = Resend::Topics
topic = call(topics, :create, { name: "News", default_subscription: "opt_in", description: "Monthly" }, reads: ID)
call(topics, :get, topic[:id], reads: %w[id name description default_subscription created_at])
call(topics, :update, { topic_id: topic[:id], name: "All news", description: "Weekly" }, reads: ID)
call(topics, :list, { limit: 5 }, reads: LIST)

contacts = Resend::Contacts
contact = call(
  contacts, :create,
  { email: "ada@example.org", first_name: "Ada", unsubscribed: false, properties: { plan: "pro" } }, reads: %w[object id]
)
member = call(
  contacts, :create, { audience_id: audience[:id], email: "bob@example.org", first_name: "Bob" }, reads: %w[object id]
)
fields = %w[object id email first_name last_name unsubscribed created_at]
call(contacts, :get, { id: contact[:id] }, reads: fields)
call(contacts, :get, { email: "ada@example.org" }, reads: fields)
call(contacts, :get, { audience_id: audience[:id], id: member[:id] }, reads: fields)
call(contacts, :update, { id: contact[:id], last_name: "L" }, reads: ID)
call(contacts, :update, { email: "ada@example.org", unsubscribed: false, properties: { plan: "team" } }, reads: ID)
call(contacts, :update, { audience_id: audience[:id], id: member[:id], last_name: "B" }, reads: ID)
call(contacts, :list, reads: %w[object data])
call(contacts, :list, { limit: 1, after: member[:id] }, reads: %w[object data])
call(contacts, :list, { audience_id: audience[:id] }, reads: LIST)
call(contacts::Segments, :add, { contact_id: contact[:id], segment_id: segment[:id] })
call(contacts::Segments, :list, { contact_id: contact[:id] }, reads: LIST)
call(contacts::Segments, :list, { email: "ada@example.org", limit: 5 }, reads: LIST)
call(contacts::Segments, :remove, { contact_id: contact[:id], segment_id: segment[:id] }, reads: %w[deleted])
call(contacts::Segments, :add, { email: "ada@example.org", segment_id: segment[:id] })
call(contacts::Topics, :update, { id: contact[:id], topics: [{ id: topic[:id], subscription: "opt_out" }] })
call(contacts::Topics, :update, { email: "ada@example.org", topics: [{ id: topic[:id], subscription: "opt_in" }] })
call(contacts::Topics, :list, { id: contact[:id] }, reads: LIST)
call(contacts::Topics, :list, { email: "ada@example.org", limit: 5 }, reads: LIST)
imported = call(
  contacts::Imports, :create,
  {
    file: "Email,First Name,Plan\nsteve@example.org,Steve,pro\n",
    column_map: {
      email: "Email", first_name: "First Name", properties: { plan: { column: "Plan", type: "string" } }
    },
    on_conflict: "upsert",
    segments: [segment[:id]],
    topics: [{ id: topic[:id], subscription: "opt_in" }]
  },
  reads: %w[object id]
)
call(contacts::Imports, :get, imported[:id], reads: %w[object id status created_at counts])
call(contacts::Imports, :list, { limit: 5 }, reads: LIST)

broadcasts = Resend::Broadcasts
draft = {
  from: "News <news@#{DOMAIN}>", subject: "Hello", html: "<p>Hello {{{FIRST_NAME|friend}}}</p>", text: "Hello",
  reply_to: ["foo@example.org", "bar@example.org"], name: "First"
}
first = call(broadcasts, :create, draft.merge(audience_id: audience[:id]), reads: ID)
call(broadcasts, :update, { broadcast_id: first[:id], html: "<p>Updated</p>", name: "Renamed" }, reads: ID)
call(broadcasts, :get, first[:id], reads: %w[object id name segment_id from subject status created_at])
call(broadcasts, :send, { broadcast_id: first[:id] }, reads: ID)
second = call(broadcasts, :create, draft.merge(segment_id: segment[:id]), reads: ID)
call(broadcasts, :send, { broadcast_id: second[:id], scheduled_at: "in 2 hours" }, reads: ID)
call(broadcasts, :cancel, second[:id], reads: ID)
third = call(broadcasts, :create, draft.merge(segment_id: segment[:id]), reads: ID)
call(broadcasts, :remove, third[:id], reads: DELETED)
call(broadcasts, :list, { limit: 3, after: second[:id] }, reads: LIST)

templates = Resend::Templates
template = call(
  templates, :create,
  {
    name: "welcome", subject: "Welcome, {{{NAME}}}", from: "me@#{DOMAIN}",
    html: "<strong>Hey, {{{NAME}}}, you are {{{AGE}}}.</strong>",
    variables: [
      { key: "NAME", type: "string", fallback_value: "user" }, { key: "AGE", type: "number", fallback_value: 25 }
    ]
  },
  reads: ID
)
call(templates, :publish, template[:id], reads: ID)
call(templates, :get, template[:id], reads: %w[object id name html variables status])
call(templates, :update, template[:id], { name: "renamed" }, reads: ID)
call(templates, :list, { limit: 10 }, reads: LIST)
copy = call(templates, :duplicate, template[:id], reads: ID)
call(
  emails, :send,
  { to: "x@example.org", template: { id: template[:id], variables: { NAME: "Ada", AGE: 7 } } }, reads: ID
)
call(templates, :remove, copy[:id], reads: DELETED)

events = Resend::Events
event = call(events, :create, { name: "user.created", schema: { plan: "string", is_new: "boolean" } }, reads: ID)
call(events, :get, event[:id], reads: %w[object id name schema])
call(events, :get, "user.created", reads: %w[object id name schema])
call(events, :update, { identifier: "user.created", schema: { plan: "string" } }, reads: ID)
call(events, :list, { limit: 5 }, reads: LIST)
automations = Resend::Automations
automation = call(
  automations, :create,
  {
    name: "Welcome", status: "enabled",
    steps: [
      { key: "start", type: "trigger", config: { event_name: "user.created" } },
      { key: "wait", type: "delay", config: { duration: "30 minutes" } },
      { key: "send", type: "send_email", config: { template: { id: template[:id] } } }
    ],
    connections: [{ from: "start", to: "wait" }, { from: "wait", to: "send" }]
  },
  reads: ID
)
call(events, :send, { event: "user.created", contact_id: contact[:id], payload: { plan: "pro" } }, reads: %w[event])
call(events, :send, { event: "user.created", email: "ada@example.org" }, reads: %w[event])
call(automations, :get, automation[:id], reads: %w[id name status steps connections])
runs = call(automations::Runs, :list, automation[:id], reads: LIST)
call(automations::Runs, :list, automation[:id], { status: "running", limit: 5 }, reads: LIST)
call(automations::Runs, :get, automation[:id], runs[:data][0]["id"], reads: %w[id status steps])
call(automations, :update, { automation_id: automation[:id], name: "Renamed", status: "disabled" }, reads: ID)
call(automations, :list, { status: "disabled", limit: 10 }, reads: LIST)
twin = call(automations, :duplicate, automation[:id], reads: ID)
call(automations, :stop, automation[:id], reads: %w[id status])
call(automations, :remove, twin[:id], reads: DELETED)
call(automations, :remove, automation[:id], reads: DELETED)
call(events, :remove, event[:id], reads: DELETED)

suppressions = Resend::Suppressions
call(suppressions, :add, { email: "blocked@example.org" }, reads: ID)
call(suppressions, :get, "blocked@example.org", reads: %w[id email origin created_at])
call(suppressions, :list, { origin: "manual", limit: 10 }, reads: LIST)
batch = call(suppressions::Batch, :add, { emails: ["one@example.org", "two@example.org"] }, reads: %w[data])
call(suppressions::Batch, :remove, { ids: batch[:data].map { |entry| entry["id"] } }, reads: %w[data])
call(suppressions, :remove, "blocked@example.org", reads: DELETED)

webhooks = Resend::Webhooks
endpoint = FIXTURES["endpoint"]
hook = call(webhooks, :create, { endpoint: endpoint, events: ["email.sent", "email.bounced"] }, reads: %w[object id signing_secret])
call(webhooks, :get, hook[:id], reads: %w[object id endpoint events status created_at])
call(
  webhooks, :update,
  { webhook_id: hook[:id], endpoint: endpoint, events: ["email.sent"], status: "enabled" }, reads: %w[object id]
)
call(webhooks, :list, { limit: 5 }, reads: LIST)
call(webhooks, :remove, hook[:id], reads: DELETED)
call(
  webhooks, :verify,
  {
    payload: DELIVERY["payload"],
    headers: %w[id timestamp signature].to_h { |name| [:"svix_#{name}", DELIVERY[name]] },
    webhook_secret: DELIVERY["secret"]
  }
)

logs = call(Resend::Logs, :list, { limit: 5 }, reads: LIST)
call(Resend::Logs, :get, logs[:data][0]["id"], reads: %w[object id endpoint method response_status created_at])
grants = call(Resend::OAuthGrants, :list, reads: LIST)
call(Resend::OAuthGrants, :revoke, grants[:data][0]["id"], reads: ID)

call(contacts, :remove, { id: contact[:id] }, reads: %w[contact deleted])
call(contacts, :remove, { audience_id: audience[:id], id: member[:id] }, reads: %w[contact deleted])
call(properties, :remove, plan[:id], reads: DELETED)
call(topics, :remove, topic[:id], reads: DELETED)
call(Resend::Audiences, :remove, audience[:id], reads: DELETED)
call(segments, :remove, segment[:id], reads: DELETED)

# Reports what no line above calls: a new version of the client has to be read then.
def report_uncalled(family)
  helpers = [Resend::PaginationHelper]
  return if helpers.include?(family)

  family.singleton_methods(false).each do |method|
    next if CALLED.include?([family, method])

    report("#{family}.#{method}", nil) { raise "the script does not call this method" }
  end
  family.constants.map { |name| family.const_get(name) }.each do |inner|
    report_uncalled(inner) if inner.instance_of?(Module)
  end
end
Resend.constants.map { |name| Resend.const_get(name) }.each do |family|
  report_uncalled(family) if family.instance_of?(Module)
end
