import type { Way } from './dialogue.ts';

export interface Transcript {
  why: string;
  script: string;
  /** The script begins without the greeting, EHLO and login that the others begin with. */
  isBare?: boolean;
  ways?: readonly Way[];
}

const ENCRYPTED = ['starttls', 'tls'] as const;

/** `{from}` is an address of the team's domain, `{plain}` its key for AUTH PLAIN, `{plain-as-…}` with an authorization identity, `{key64}` and `{user64}` for LOGIN. */
export const transcripts: readonly Transcript[] = [
  {
    why: 'what asks for nothing',
    isBare: true,
    script: `
      C: noop with words
      S: 250 2.0.0 …
      C: HELP AUTH
      S: 214 2.0.0 EHLO, …AUTH, MAIL, RCPT, DATA, RSET, NOOP, VRFY, QUIT
      C: VRFY someone@example.net
      S: 252 2.0.0 Cannot verify addresses…
      C: VRFY
      S: 501 5.5.4 Send VRFY with an address
      C: EXPN list
      S: 502 5.5.1 EXPN is not supported…
      C: QUIT
      S: 221 2.0.0 …`,
  },
  {
    why: 'greetings with too little and with too much',
    isBare: true,
    script: `
      C: HELO
      S: 501 5.5.4 Send HELO with the name of your host
      C: EHLO
      S: 501 5.5.4 Send EHLO with the name of your host
      C: helo a b
      S: 501 5.5.4 Send HELO with the name of your host
      C: HELO   [127.0.0.1]
      S: 250 …
      C: AUTH   PLAIN   {plain}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'words where there may be none, and spaces where they do no harm',
    script: `
      C: mail from: <{from}>   SIZE=10
      S: 250 2.1.0 …
      C: Rcpt To: <someone@example.net>
      S: 250 2.1.5 …
      C: RSET all
      S: 501 5.5.4 RSET takes no parameters
      C: DATA all
      S: 501 5.5.4 DATA takes no parameters
      C: data
      S: 354 …
      C: From: {from}
      C:
      C: .
      S: 250 2.6.0 …`,
  },
  {
    why: 'what is offered over TLS',
    isBare: true,
    ways: ENCRYPTED,
    script: `
      C: EHLO client.example
      S: 250-rasket.test
      S: 250-PIPELINING
      S: 250-8BITMIME
      S: 250-SMTPUTF8
      S: 250-ENHANCEDSTATUSCODES
      S: 250-SIZE 52428800
      S: 250-AUTH PLAIN LOGIN
      S: 250-DSN
      S: 250 REQUIRETLS
      C: QUIT
      S: 221 2.0.0 …
      S: (hangs up)`,
  },
  {
    why: 'AUTH PLAIN in one line',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN {plain}
      S: 235 2.7.0 Logged in
      C: AUTH PLAIN {plain}
      S: 503 5.5.1 Already logged in…`,
  },
  {
    why: 'AUTH PLAIN for oneself, by name',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN {plain-as-rasket}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'AUTH PLAIN for somebody else',
    isBare: true,
    // From the second failure of an address on, replies are delayed.
    ways: ['starttls'],
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN {plain-as-other}
      S: 535 5.7.8 Acting for another user is not supported; leave the authorization identity empty, or set it to the user name
      C: MAIL FROM:<{from}>
      S: 530 5.7.0 …
      C: AUTH PLAIN {plain}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'AUTH PLAIN in two lines',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN
      S: 334…
      C: {plain}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'AUTH LOGIN',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH LOGIN
      S: 334 VXNlcm5hbWU6
      C: {user64}
      S: 334 UGFzc3dvcmQ6
      C: {key64}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'AUTH LOGIN with the user name in its line',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH LOGIN {user64}
      S: 334 UGFzc3dvcmQ6
      C: {key64}
      S: 235 2.7.0 Logged in`,
  },
  {
    why: 'a login called off',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN
      S: 334…
      C: *
      S: 501 5.7.0 The login was canceled`,
  },
  {
    why: 'a login that is no base64',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH PLAIN !!!!
      S: 501 5.5.2 Malformed credentials…`,
  },
  {
    why: 'a mechanism that is not offered',
    isBare: true,
    script: `
      C: HELO client.example
      S: 250 …
      C: AUTH CRAM-MD5
      S: 504 5.5.4 Unknown authentication mechanism…`,
  },
  {
    why: 'nothing is sent without a login',
    isBare: true,
    script: `
      C: EHLO client.example
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-SIZE…
      S: 250-…
      S: 250-…
      S: 250 …
      C: MAIL FROM:<{from}>
      S: 530 5.7.0 Log in first…
      C: RCPT TO:<x@example.net>
      S: 530 5.7.0 Log in first…
      C: DATA
      S: 530 5.7.0 Log in first…`,
    ways: ENCRYPTED,
  },
  {
    why: 'EHLO comes first',
    isBare: true,
    script: `
      C: MAIL FROM:<{from}>
      S: 503 5.5.1 Send EHLO first
      C: AUTH PLAIN {plain}
      S: 503 5.5.1 Send EHLO first`,
  },
  {
    why: 'EHLO without a name',
    isBare: true,
    script: `
      C: EHLO
      S: 501 5.5.4 Send EHLO with the name of your host
      C: HELO
      S: 501 …`,
  },
  {
    why: 'HTTP is sent off',
    isBare: true,
    script: `
      C: GET / HTTP/1.1
      S: 421 4.7.0 This is an SMTP port; it does not accept HTTP requests
      S: (hangs up)`,
  },
  {
    why: 'a whole message',
    script: `
      C: MAIL FROM:<{from}> SIZE=100 BODY=8BITMIME
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C: Subject: Hello
      C:
      C: ..dots
      C: .
      S: 250 2.6.0 Accepted as ……`,
  },
  {
    why: 'two messages over one connection',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C:
      C: one
      C: .
      S: 250 2.6.0 …
      C: MAIL FROM:<>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C:
      C: two
      C: .
      S: 250 2.6.0 …
      C: QUIT
      S: 221 …
      S: (hangs up)`,
  },
  {
    why: 'RSET forgets the transaction and not the login',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: RSET
      S: 250 2.0.0 …
      C: DATA
      S: 503 5.5.1 No recipient was accepted…
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …`,
  },
  {
    why: 'RCPT before MAIL',
    script: `
      C: RCPT TO:<someone@example.net>
      S: 503 5.5.1 Send MAIL first`,
  },
  {
    why: 'MAIL twice',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: MAIL FROM:<{from}>
      S: 503 5.5.1 A mail transaction is already open…`,
  },
  {
    why: 'a sender without brackets',
    script: `
      C: MAIL FROM:{from}
      S: 501 5.1.7 Write MAIL FROM:<local@example.com>`,
  },
  {
    why: 'a recipient that is none',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<nobody>
      S: 501 5.1.3 Write RCPT TO:<local@example.com>
      C: RCPT TO:<>
      S: 501 5.1.3 …
      C: RCPT TO:<postmaster>
      S: 553 5.1.3 The address "postmaster" has no @…`,
  },
  {
    why: 'a recipient that SMTPUTF8 was not asked for',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<jörg@example.net>
      S: 553 5.6.7 An address with non-ASCII characters needs the parameter SMTPUTF8 of MAIL`,
  },
  {
    why: 'a recipient that SMTPUTF8 was asked for',
    script: `
      C: MAIL FROM:<{from}> SMTPUTF8
      S: 250 2.1.0 …
      C: RCPT TO:<jörg@example.net>
      S: 250 2.1.5 …`,
  },
  {
    why: 'delivery notices',
    script: `
      C: MAIL FROM:<{from}> RET=HDRS ENVID=a+2Bb
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;x+2By@example.net
      S: 250 2.1.5 …
      C: RCPT TO:<other@example.net> notify=never
      S: 250 2.1.5 …`,
  },
  {
    why: 'delivery notices that are asked for in a wrong way, at MAIL',
    script: `
      C: MAIL FROM:<{from}> RET=ALL
      S: 501 5.5.4 RET must be FULL or HDRS
      C: MAIL FROM:<{from}> RET
      S: 501 …
      C: MAIL FROM:<{from}> ENVID=a+0D+0Ab
      S: 501 5.5.4 ENVID contains characters other than printable ASCII
      C: MAIL FROM:<{from}> ENVID=a+80b
      S: 501 5.5.4 ENVID contains characters other than printable ASCII
      C: MAIL FROM:<{from}> ENVID=a+E9b
      S: 501 5.5.4 ENVID contains characters other than printable ASCII
      C: MAIL FROM:<{from}> RET=HDRS envid=a+ZZ
      S: 501 5.5.4 ENVID is not valid xtext; encode "+", "=" and everything that is not printable ASCII as "+" and two hexadecimal digits, as in +2B
      C: MAIL FROM:<{from}> ENVID=a+
      S: 501 5.5.4 ENVID is not valid xtext…
      C: MAIL FROM:<{from}> ENVID=a+2b
      S: 501 5.5.4 ENVID is not valid xtext…
      C: MAIL FROM:<{from}> SIZE=1+0D
      S: 501 5.5.4 SIZE contains characters other than printable ASCII
      C: MAIL FROM:<{from}> ENVID={long}
      S: 501 5.5.4 ENVID has more than 100 characters`,
  },
  {
    why: 'delivery notices that are asked for in a wrong way, at RCPT',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net> NOTIFY=NEVER,DELAY
      S: 501 5.5.4 NOTIFY must be NEVER, or SUCCESS, FAILURE and DELAY in any combination, separated by commas
      C: RCPT TO:<someone@example.net> NOTIFY=ALWAYS
      S: 501 5.5.4 NOTIFY must be NEVER…
      C: RCPT TO:<someone@example.net> NOTIFY
      S: 501 …
      C: RCPT TO:<someone@example.net> ORCPT=x@y.example
      S: 501 5.5.4 ORCPT must be a type, a semicolon and an address…
      C: RCPT TO:<someone@example.net> ORCPT=rfc822;a+0D+0Ab@y.example
      S: 501 5.5.4 ORCPT contains characters other than printable ASCII
      C: RCPT TO:<someone@example.net> ORCPT=rfc822;a+ZZ@y.example
      S: 501 5.5.4 ORCPT is not valid xtext…
      C: RCPT TO:<"a b"@example.net> ORCPT=rfc822;a+ZZ@y.example
      S: 501 5.5.4 ORCPT is not valid xtext…
      C: RCPT TO:<someone@example.net> ORCPT=rfc822;{long}{long}
      S: 501 5.5.4 ORCPT has more than 500 characters
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …`,
  },
  {
    why: 'notices to a domain that is not the team’s',
    script: `
      C: MAIL FROM:<me@elsewhere.example>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net> NOTIFY=SUCCESS
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C:
      C: .
      S: 550 5.7.1 Delivery notices are only sent to a verified domain…`,
  },
  {
    why: 'REQUIRETLS',
    ways: ENCRYPTED,
    script: `
      C: MAIL FROM:<{from}> REQUIRETLS=yes
      S: 501 5.5.4 REQUIRETLS takes no value
      C: MAIL FROM:<{from}> REQUIRETLS
      S: 250 2.1.0 …`,
  },
  {
    why: 'REQUIRETLS in clear',
    ways: ['plain'],
    script: `
      C: MAIL FROM:<{from}> REQUIRETLS
      S: 530 5.7.11 REQUIRETLS requires TLS on this connection too; send STARTTLS first`,
  },
  {
    why: 'a parameter that nobody knows',
    script: `
      C: MAIL FROM:<{from}> XFOO=1
      S: 555 5.5.4 The parameter XFOO is not supported; leave it out`,
  },
  {
    why: 'a parameter twice',
    script: `
      C: MAIL FROM:<{from}> SIZE=1 SIZE=2
      S: 501 …`,
  },
  {
    why: 'AUTH at MAIL, which clients that have logged in may say',
    script: `
      C: MAIL FROM:<{from}> AUTH=<>
      S: 250 2.1.0 …`,
  },
  {
    why: 'BINARYMIME',
    script: `
      C: MAIL FROM:<{from}> BODY=BINARYMIME
      S: 501 5.5.4 BODY must be 7BIT or 8BITMIME…`,
  },
  {
    why: 'a size that is announced too large',
    script: `
      C: MAIL FROM:<{from}> SIZE=52428801
      S: 552 5.3.4 The message exceeds the limit of 52428800 bytes…`,
  },
  {
    why: 'a size that is no number',
    script: `
      C: MAIL FROM:<{from}> SIZE=big
      S: 501 5.5.4 SIZE takes a number of bytes`,
  },
  {
    why: 'a domain that is not verified',
    script: `
      C: MAIL FROM:<me@elsewhere.example>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: me@elsewhere.example
      C:
      C: .
      S: 550 5.7.1 The domain elsewhere.example is not verified for this team…`,
  },
  {
    why: 'no From',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: Subject: x
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: it has no header From.`,
  },
  {
    why: 'two From',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C: FROM: other@example.org
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: it has 2 headers from…`,
  },
  {
    why: 'From with two addresses',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}, other@example.org
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: its header From must be one mailbox, as in Name <local@example.com>. "{from}, other@example.org" looks like a list…`,
  },
  {
    why: 'a header that is none',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C: no colon here
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: the line "no colon here" is no header; an empty line ends the headers.`,
  },
  {
    why: 'an empty message',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: .
      S: 550 5.6.0 The message cannot be sent: it has no header From.`,
  },
  {
    why: 'a tag that is none',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C: X-Rasket-Tag: no value
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: a header X-Rasket-Tag is not name=value…`,
  },
  {
    why: 'an idempotency key that is too long',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<someone@example.net>
      S: 250 2.1.5 …
      C: DATA
      S: 354 …
      C: From: {from}
      C: Rasket-Idempotency-Key: {long}
      C:
      C: .
      S: 550 5.6.0 The message cannot be sent: its idempotency key must be 1 to 256 characters long.`,
  },
  {
    why: 'DATA when no recipient was taken',
    script: `
      C: MAIL FROM:<{from}>
      S: 250 2.1.0 …
      C: DATA
      S: 503 5.5.1 No recipient was accepted; send RCPT first`,
  },
  {
    why: 'quoted local parts, with what ends an address elsewhere',
    script: `
      C: MAIL FROM:<"a b"@example.org> SIZE=10
      S: 250 2.1.0 …
      C: RCPT TO:<"a b"@example.net>
      S: 250 2.1.5 …
      C: rcpt to: <"a@b <c> \\"d\\""@EXAMPLE.net>  NOTIFY=NEVER
      S: 250 2.1.5 …
      C: RCPT TO:<"a b">
      S: 501 5.1.3 …
      C: RCPT TO:<"a b"@>
      S: 501 5.1.3 …
      C: RCPT TO:<"a b@example.net>
      S: 501 5.1.3 …
      C: RCPT TO:<"a b"@example.net> XFOO
      S: 555 5.5.4 …
      C: RCPT TO:<"\tb c"@example.net>
      S: 501 5.1.3 …`,
  },
  {
    why: 'a source route is passed over',
    script: `
      C: MAIL FROM:<@relay.example:{from}>
      S: 250 2.1.0 …
      C: RCPT TO:<@relay.example:someone@example.net>
      S: 250 2.1.5 …`,
  },
  {
    why: 'NOOP, HELP and VRFY',
    script: `
      C: NOOP
      S: 250 2.0.0 …
      C: HELP
      S: 214 2.0.0 EHLO, …
      C: VRFY someone
      S: 252 2.0.0 …`,
  },
  {
    why: 'commands of old',
    script: `
      C: WIZ
      S: 500 5.5.2 Unknown command; HELP lists the supported commands
      C: SHELL
      S: 500 5.5.2 …
      C: KILL
      S: 500 5.5.2 …
      C: EXPN list
      S: 502 5.5.1 EXPN is not supported; send to the address of the list`,
  },
  {
    why: 'who may not speak for others does not',
    script: `
      C: XCLIENT ADDR=192.0.2.1
      S: 500 5.5.2 …
      C: XFORWARD ADDR=192.0.2.1
      S: 500 5.5.2 …
      C: BDAT 10 LAST
      S: 500 5.5.2 …`,
  },
  {
    why: 'TLS on TLS',
    ways: ENCRYPTED,
    script: `
      C: STARTTLS
      S: 503 5.5.1 The connection is already encrypted`,
  },
  {
    why: 'ten commands that nobody knows',
    script: `
      C: A
      S: 500 …
      C: B
      S: 500 …
      C: C
      S: 500 …
      C: D
      S: 500 …
      C: E
      S: 500 …
      C: F
      S: 500 …
      C: G
      S: 500 …
      C: H
      S: 500 …
      C: I
      S: 500 …
      C: J
      S: 421 4.7.0 Too many unknown commands…
      S: (hangs up)`,
  },
  {
    why: 'everything in one breath',
    script: `
      C: MAIL FROM:<{from}>
      C: RCPT TO:<someone@example.net>
      C: RCPT TO:<bad>
      C: DATA
      S: 250 2.1.0 …
      S: 250 2.1.5 …
      S: 501 5.1.3 …
      S: 354 …
      C: From: {from}
      C:
      C: pipelined
      C: .
      C: NOOP
      C: QUIT
      S: 250 2.6.0 …
      S: 250 2.0.0 …
      S: 221 …
      S: (hangs up)`,
  },
];

/** Transcripts only in clear, on a port that demands TLS for a login. */
export const clearTranscripts: readonly Transcript[] = [
  {
    why: 'no login is offered in clear',
    isBare: true,
    script: `
      C: EHLO client.example
      S: 250-rasket.test
      S: 250-PIPELINING
      S: 250-8BITMIME
      S: 250-SMTPUTF8
      S: 250-ENHANCEDSTATUSCODES
      S: 250-SIZE 52428800
      S: 250 STARTTLS`,
  },
  {
    why: 'none is taken in clear',
    isBare: true,
    script: `
      C: EHLO client.example
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250 STARTTLS
      C: AUTH PLAIN {plain}
      S: 538 5.7.11 Encryption required; send STARTTLS, then AUTH
      C: AUTH LOGIN
      S: 538 5.7.11 …
      C: MAIL FROM:<{from}>
      S: 530 5.7.0 Log in first: STARTTLS, then AUTH…`,
  },
  {
    why: 'STARTTLS with words behind it',
    isBare: true,
    script: `
      C: EHLO client.example
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250-…
      S: 250 STARTTLS
      C: STARTTLS now
      S: 501 5.5.4 STARTTLS takes no parameters`,
  },
];
