"""Submits one message with an attachment, and one each to as many recipients as the arguments after the first say."""
import json
import smtplib
import ssl
import sys
from email.message import EmailMessage

settings = json.loads(sys.argv[1])
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def make_message(subject, recipients):
    message = EmailMessage()
    message["From"], message["Subject"] = settings["from"], subject
    message["To"] = ", ".join(recipients)
    message.set_content("Grüße")
    return message


def list_recipients(count):
    return [f"r{n}@example.net" for n in range(count)]


with smtplib.SMTP("127.0.0.1", settings["port"]) as client:
    client.starttls(context=context)
    client.login("resend", settings["key"])
    one = make_message("one file", ["x@example.net"])
    one["Bcc"] = "b@example.net"
    one.add_attachment(b"a file", maintype="application", subtype="octet-stream", filename="file.bin")
    client.send_message(one)
    for count in map(int, sys.argv[2:]):
        refused = client.send_message(make_message(f"to {count}", list_recipients(count)))
        assert refused == {}, refused
with smtplib.SMTP_SSL("127.0.0.1", settings["tls_port"], context=context) as client:
    client.login("rasket", settings["key"])
    client.send_message(make_message("over TLS", ["x@example.net"]))
