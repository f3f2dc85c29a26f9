"""Calls every method of the official Python client, the blocking ones and `send_async`, and reports each call.

The client is the unmodified source in SDK_SOURCES; everything else comes from the environment (see test/clients/README.md).
"""
import asyncio
import inspect
import json
import os
import sys
import typing
import urllib.request

SOURCES = os.environ["SDK_SOURCES"]
sys.path.insert(0, SOURCES)
import resend  # noqa: E402
from typing_extensions import NotRequired, get_type_hints, is_typeddict  # noqa: E402

FIXTURES = json.loads(os.environ["CLIENT_FIXTURES"])
DELIVERY = json.loads(os.environ["CLIENT_DELIVERY"])
DOMAIN = FIXTURES["domain"]
called = set()


def notify(path, body):
    data = json.dumps(body).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["CLIENT_PROXY"] + path, data)).read()


def list_promised_fields(kind, prefix=""):
    """Lists the fields that a TypedDict says are always there, and those of its lists' elements."""
    if not is_typeddict(kind):
        return []
    fields = []
    hints = get_type_hints(kind, include_extras=True)
    for name in sorted(getattr(kind, "__required_keys__", ())):
        hint = hints.get(name)
        if typing.get_origin(hint) is NotRequired or name == "http_headers":
            continue
        fields.append(prefix + name)
        arguments = typing.get_args(hint)
        if typing.get_origin(hint) in (list, typing.List) and arguments:
            fields += list_promised_fields(arguments[0], f"{prefix}{name}.0.")
        else:
            fields += list_promised_fields(hint, f"{prefix}{name}.")
    return fields


def find_return_type(method):
    function = inspect.unwrap(method.__func__)
    # Return types are often strings that name a class inside of another one.
    namespace = {**vars(resend), **function.__globals__}
    try:
        return get_type_hints(function, namespace).get("return")
    except (NameError, AttributeError):
        return None


def call(method, *args, refused=None, **kwargs):
    """Calls one method; returns its result, or None where the call is refused as documented."""
    name = method.__qualname__
    called.add(method.__func__)
    file = os.path.relpath(inspect.getsourcefile(method), SOURCES)
    notify("/-/begin", {"name": name, "file": file, **({"refused": refused} if refused else {})})
    try:
        result = method(*args, **kwargs)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    except Exception as error:  # Whatever the client raises is the outcome of the call.
        notify("/-/end", {"error": f"{type(error).__name__}: {error}"})
        return None
    notify("/-/end", {"reads": list_promised_fields(find_return_type(method))})
    return result


def message(**more):
    return {"from": f"Acme <me@{DOMAIN}>", "to": ["x@example.org"], "subject": "Hello", "text": "It works.", **more}


def main():
    emails = resend.Emails
    sent = call(
        emails.send,
        message(
            html="<p>It works.</p>",
            cc="c@example.org",
            bcc=["b@example.org"],
            reply_to="answers@example.com",
            headers={"X-Order": "7"},
            tags=[{"name": "kind", "value": "receipt"}],
        ),
    )
    call(emails.send, message(), {"idempotency_key": "receipt-1"})
    call(emails.send, message(), {"idempotency_key": "receipt-1"})
    # Bytes as a list of integers, as in examples/with_attachments.py and examples/with_inline_attachments.py.
    with_files = call(
        emails.send,
        message(
            html='<img src="cid:logo">',
            attachments=[
                {"filename": "bytes.txt", "content": list(b"a file")},
                {"filename": "base64.txt", "content": "YSBmaWxl", "content_type": "text/plain"},
                {"filename": "logo.png", "content": list(b"\x89PNG"), "content_id": "logo"},
                {"filename": "inline.png", "content": list(b"\x89PNG"), "inline_content_id": "inline"},
            ],
        ),
    )
    call(emails.send_async, message(subject="Sent without blocking"))
    call(
        emails.send,
        message(headers={"List-Unsubscribe": "<https://example.org/u>"}),
        refused="List-Unsubscribe is set by the server",
    )
    call(emails.send, message(scheduled_at="in 1 hour"), refused="scheduled_at of an email is an ISO 8601 time")
    call(emails.get, sent["id"])
    call(emails.list)
    call(emails.list, {"limit": 2, "after": with_files["id"]})
    files = call(emails.Attachments.list, with_files["id"])
    call(emails.Attachments.list, with_files["id"], {"limit": 1})
    call(emails.Attachments.get, with_files["id"], files["data"][0]["id"])
    scheduled = call(emails.send, message(scheduled_at=FIXTURES["in_an_hour"]))
    call(emails.update, {"id": scheduled["id"], "scheduled_at": FIXTURES["in_two_hours"]})
    call(emails.cancel, scheduled["id"])
    call(emails.share, sent["id"], {"expires_in": "2 hours"})
    call(emails.share, sent["id"])
    call(resend.Batch.send, [message(), message(subject="Second")])
    call(
        resend.Batch.send,
        [message(), message(to="no address")],
        {"batch_validation": "permissive", "idempotency_key": "batch-1"},
    )

    receiving = emails.Receiving
    call(receiving.list)
    call(receiving.list, {"limit": 1})
    call(receiving.get, FIXTURES["received"])
    call(receiving.get, FIXTURES["received"], {"html_format": "cid"})
    received = call(receiving.Attachments.list, FIXTURES["received"])
    call(receiving.Attachments.get, FIXTURES["received"], received["data"][0]["id"])

    keys = resend.ApiKeys
    key = call(keys.create, {"name": "Sending", "permission": "sending_access"})
    call(keys.list)
    call(keys.update, {"api_key_id": key["id"], "name": "Renamed"})
    call(keys.remove, key["id"])

    domains = resend.Domains
    domain = call(domains.create, {"name": "python.example.com", "region": "us-east-1", "custom_return_path": "back"})
    call(domains.get, domain["id"])
    call(domains.update, {"id": domain["id"], "open_tracking": True, "click_tracking": True, "tls": "enforced"})
    call(domains.verify, domain["id"])
    call(domains.list)
    call(domains.remove, domain["id"])
    claim = call(domains.Claims.create, {"name": FIXTURES["claimable"], "region": "us-east-1"})
    call(domains.Claims.get, claim["domain_id"])
    call(domains.Claims.verify, claim["domain_id"])

    segments = resend.Segments
    segment = call(segments.create, {"name": "Readers"})
    call(segments.get, segment["id"])
    call(segments.list, {"limit": 5})
    audiences = resend.Audiences
    audience = call(audiences.create, {"name": "Subscribers"})
    call(audiences.get, audience["id"])
    call(audiences.list)

    properties = resend.ContactProperties
    plan = call(properties.create, {"key": "plan", "type": "string", "fallback_value": "free"})
    call(properties.get, plan["id"])
    call(properties.update, {"id": plan["id"], "fallback_value": "basic"})
    call(properties.list, {"limit": 5})

    topics = resend.Topics
    topic = call(topics.create, {"name": "News", "default_subscription": "opt_in", "description": "Monthly"})
    call(topics.get, topic["id"])
    call(topics.update, topic["id"], {"name": "All news", "description": "Weekly"})
    call(topics.list, {"limit": 5})

    contacts = resend.Contacts
    contact = call(
        contacts.create,
        {"email": "ada@example.org", "first_name": "Ada", "unsubscribed": False, "properties": {"plan": "pro"}},
    )
    in_audience = call(contacts.create, {"audience_id": audience["id"], "email": "bob@example.org", "first_name": "Bob"})
    call(contacts.get, id=contact["id"])
    call(contacts.get, email="ada@example.org")
    call(contacts.get, audience_id=audience["id"], id=in_audience["id"])
    call(contacts.update, {"id": contact["id"], "last_name": "L"})
    call(contacts.update, {"email": "ada@example.org", "unsubscribed": False, "properties": {"plan": "team"}})
    call(contacts.update, {"audience_id": audience["id"], "id": in_audience["id"], "last_name": "B"})
    call(contacts.list)
    call(contacts.list, audience["id"])
    call(contacts.list, params={"limit": 1, "after": in_audience["id"]})
    call(contacts.list, segment_id=audience["id"])
    call(contacts.Segments.add, {"contact_id": contact["id"], "segment_id": segment["id"]})
    call(contacts.Segments.list, {"contact_id": contact["id"]})
    call(contacts.Segments.list, {"email": "ada@example.org"}, {"limit": 5})
    call(contacts.Segments.remove, {"contact_id": contact["id"], "segment_id": segment["id"]})
    call(contacts.Segments.add, {"email": "ada@example.org", "segment_id": segment["id"]})
    call(contacts.Topics.update, {"id": contact["id"], "topics": [{"id": topic["id"], "subscription": "opt_out"}]})
    call(contacts.Topics.update, {"email": "ada@example.org", "topics": [{"id": topic["id"], "subscription": "opt_in"}]})
    call(contacts.Topics.list, contact_id=contact["id"])
    call(contacts.Topics.list, email="ada@example.org", params={"limit": 5})
    imported = call(
        contacts.Imports.create,
        {
            "file": b"Email,First Name,Plan\nsteve@example.org,Steve,pro\n",
            "filename": "contacts.csv",
            "column_map": {
                "email": "Email",
                "first_name": "First Name",
                "properties": {"plan": {"column": "Plan", "type": "string"}},
            },
            "on_conflict": "upsert",
            "segments": [{"id": segment["id"]}],
            "topics": [{"id": topic["id"], "subscription": "opt_in"}],
        },
    )
    call(contacts.Imports.get, imported["id"])
    call(contacts.Imports.list, {"limit": 5})

    broadcasts = resend.Broadcasts
    draft = {
        "audience_id": audience["id"],
        "from": f"News <news@{DOMAIN}>",
        "subject": "Hello",
        "html": "<p>Hello {{{FIRST_NAME|friend}}}</p>",
        "text": "Hello",
        "reply_to": ["foo@example.org", "bar@example.org"],
        "name": "First",
    }
    first = call(broadcasts.create, draft)
    call(broadcasts.update, {"broadcast_id": first["id"], "html": "<p>Updated</p>", "name": "Renamed"})
    call(broadcasts.get, id=first["id"])
    call(broadcasts.send, {"broadcast_id": first["id"]})
    by_segment = {**draft, "segment_id": segment["id"]}
    del by_segment["audience_id"]
    second = call(broadcasts.create, by_segment)
    call(broadcasts.send, {"broadcast_id": second["id"], "scheduled_at": "in 2 hours"})
    call(broadcasts.cancel, id=second["id"])
    third = call(broadcasts.create, by_segment)
    call(broadcasts.remove, id=third["id"])
    call(broadcasts.list, {"limit": 3, "after": second["id"]})

    templates = resend.Templates
    template = call(
        templates.create,
        {
            "name": "welcome",
            "subject": "Welcome, {{{NAME}}}",
            "from": f"me@{DOMAIN}",
            "html": "<strong>Hey, {{{NAME}}}, you are {{{AGE}}}.</strong>",
            "variables": [
                {"key": "NAME", "type": "string", "fallback_value": "user"},
                {"key": "AGE", "type": "number", "fallback_value": 25},
            ],
        },
    )
    call(templates.publish, template["id"])
    call(templates.get, template["id"])
    call(templates.update, {"id": template["id"], "name": "renamed"})
    call(templates.list, {"limit": 10})
    copy = call(templates.duplicate, template["id"])
    call(
        emails.send,
        {"to": "x@example.org", "template": {"id": template["id"], "variables": {"NAME": "Ada", "AGE": 7}}},
    )
    call(templates.remove, copy["id"])

    events = resend.Events
    event = call(events.create, {"name": "user.created", "schema": {"plan": "string", "is_new": "boolean"}})
    call(events.get, event["id"])
    call(events.get, "user.created")
    call(events.update, {"identifier": "user.created", "schema": {"plan": "string"}})
    call(events.list, {"limit": 5})
    automations = resend.Automations
    automation = call(
        automations.create,
        {
            "name": "Welcome",
            "status": "enabled",
            "steps": [
                {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
                {"key": "wait", "type": "delay", "config": {"duration": "30 minutes"}},
                {"key": "send", "type": "send_email", "config": {"template": {"id": template["id"]}}},
            ],
            "connections": [{"from": "start", "to": "wait"}, {"from": "wait", "to": "send"}],
        },
    )
    call(events.send, {"event": "user.created", "contact_id": contact["id"], "payload": {"plan": "pro"}})
    call(events.send, {"event": "user.created", "email": "ada@example.org"})
    call(automations.get, automation["id"])
    runs = call(automations.Runs.list, automation["id"])
    call(automations.Runs.list, automation["id"], {"status": "running", "limit": 5})
    call(automations.Runs.get, automation["id"], runs["data"][0]["id"])
    call(automations.update, {"automation_id": automation["id"], "name": "Renamed", "status": "disabled"})
    call(automations.list)
    call(automations.list, params={"status": "disabled", "limit": 10})
    twin = call(automations.duplicate, automation["id"])
    call(automations.stop, automation["id"])
    call(automations.remove, twin["id"])
    call(automations.remove, automation["id"])
    call(events.remove, event["id"])

    suppressions = resend.Suppressions
    call(suppressions.add, {"email": "blocked@example.org"})
    call(suppressions.get, "blocked@example.org")
    call(suppressions.list, {"origin": "manual", "limit": 10})
    batch = call(suppressions.Batch.add, {"emails": ["one@example.org", "two@example.org"]})
    call(suppressions.Batch.remove, {"ids": [entry["id"] for entry in batch["data"]]})
    call(suppressions.remove, "blocked@example.org")

    webhooks = resend.Webhooks
    hook = call(webhooks.create, {"endpoint": FIXTURES["endpoint"], "events": ["email.sent", "email.bounced"]})
    call(webhooks.get, hook["id"])
    call(
        webhooks.update,
        {"webhook_id": hook["id"], "endpoint": FIXTURES["endpoint"], "events": ["email.sent"], "status": "enabled"},
    )
    call(webhooks.list, {"limit": 5})
    call(webhooks.remove, hook["id"])
    call(
        webhooks.verify,
        {
            "payload": DELIVERY["payload"],
            "headers": {name: DELIVERY[name] for name in ("id", "timestamp", "signature")},
            "webhook_secret": DELIVERY["secret"],
        },
    )

    logs = call(resend.Logs.list, {"limit": 5})
    call(resend.Logs.get, logs["data"][0]["id"])
    grants = call(resend.OAuthGrants.list)
    call(resend.OAuthGrants.revoke, grants["data"][0]["id"])

    call(contacts.remove, id=contact["id"])
    call(contacts.remove, audience_id=audience["id"], id=in_audience["id"])
    call(properties.remove, plan["id"])
    call(topics.remove, topic["id"])
    call(audiences.remove, audience["id"])
    call(segments.remove, segment["id"])
    call(domains.list, {"limit": 1})


def list_methods(kind, seen):
    """Lists the public methods of a class of the client and of the classes inside of it."""
    if kind in seen or is_typeddict(kind):
        return []
    seen.add(kind)
    methods = []
    for name, member in inspect.getmembers(kind):
        if name.startswith("_"):
            continue
        if inspect.ismethod(member):
            methods.append(member)
        elif inspect.isclass(member) and member.__module__.startswith("resend"):
            methods += list_methods(member, seen)
    return methods


def report_uncalled():
    """Reports what no line above calls: a new version of the client has to be read then."""
    seen = set()
    families = [value for name in resend.__all__ if inspect.isclass(value := getattr(resend, name))]
    for family in families:
        for method in list_methods(family, seen):
            # Each blocking method has a twin that differs in its transport alone; one of them is called above.
            if method.__func__ not in called and not method.__name__.endswith("_async"):
                notify("/-/begin", {"name": method.__qualname__})
                notify("/-/end", {"error": "the script does not call this method"})


main()
report_uncalled()
