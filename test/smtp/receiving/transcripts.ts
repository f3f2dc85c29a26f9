/**
 * Dialogues with the MX port. `>` is said with CRLF, `>>` as it stands (with escapes) and without waiting, `<` begins the
 * next reply, `<>` is the end of the connection, `tls` encrypts. DOMAIN receives; OTHER is a domain of ours that does not.
 */
export const TRANSCRIPTS: Record<string, string> = {
  'a message is taken': `
    < 220 rasket.test
    > EHLO mx.example.org
    < 250-rasket.test
    > MAIL FROM:<a@example.org>
    < 250 2.1.0
    > RCPT TO:<b@DOMAIN>
    < 250 2.1.5
    > DATA
    < 354
    >> Subject: x\\r\\n\\r\\nHello\\r\\n.\\r\\n
    < 250 2.0.0 Stored
    > QUIT
    < 221
    <>`,
  'an empty message is taken': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> .\\r\\n
    < 250`,
  'two messages over one connection': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> one\\r\\n.\\r\\n
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<c@DOMAIN>
    < 250
    > DATA
    < 354
    >> two\\r\\n.\\r\\n
    < 250`,
  'everything before DATA at once': `
    < 220
    >> EHLO a.example\\r\\nMAIL FROM:<a@example.org>\\r\\nRCPT TO:<b@DOMAIN>\\r\\nDATA\\r\\n
    < 250-
    < 250 2.1.0
    < 250 2.1.5
    < 354
    >> x\\r\\n.\\r\\nQUIT\\r\\n
    < 250
    < 221`,
  'HELO serves as well': `
    < 220
    > HELO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250`,
  'commands in any letter case': `
    < 220
    > ehlo a.example
    < 250
    > mail from:<a@example.org>
    < 250
    > rcpt to:<B@DOMAIN>
    < 250
    > data
    < 354
    >> x\\r\\n.\\r\\n
    < 250`,
  'a domain in capitals': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<>
    < 250
    > RCPT TO:<b@UPPER>
    < 250`,
  'extensions are said': `
    < 220
    > EHLO a.example
    < 250-rasket.test\\n250-PIPELINING\\n250-8BITMIME\\n250-SMTPUTF8\\n250-ENHANCEDSTATUSCODES\\n250-SIZE 52428800\\n250 STARTTLS`,
  'nobody logs in': `
    < 220
    > EHLO a.example
    < 250
    > AUTH PLAIN AGEAYg==
    < 50
    > AUTH LOGIN
    < 50`,
  'mail to a domain that is not ours': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@example.net>
    < 550 5.7.1 This server does not receive mail for example.net
    > DATA
    < 503 5.5.1`,
  'mail to a domain that does not receive': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@OTHER>
    < 550 5.7.1`,
  'mail to a subdomain of a domain that receives': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@sub.DOMAIN>
    < 550 5.7.1`,
  'one recipient of two is ours': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<x@example.net>
    < 550
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> x\\r\\n.\\r\\n
    < 250`,
  'a return path that we did not make': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<>
    < 250
    > RCPT TO:<b-00000000000000000000000000-0000000000@send.DOMAIN>
    < 550`,
  'DATA without a recipient': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > DATA
    < 503 5.5.1 No recipient was accepted`,
  'RCPT before MAIL': `
    < 220
    > EHLO a.example
    < 250
    > RCPT TO:<b@DOMAIN>
    < 503 5.5.1 Send MAIL first`,
  'MAIL before EHLO': `
    < 220
    > MAIL FROM:<a@example.org>
    < 503 5.5.1 Send EHLO first`,
  'MAIL twice': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > MAIL FROM:<a@example.org>
    < 503 5.5.1`,
  'RSET forgets the transaction': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > RSET
    < 250
    > DATA
    < 503`,
  'EHLO forgets the transaction': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > EHLO a.example
    < 250
    > DATA
    < 503`,
  'a size that is too large is refused before it is sent': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> SIZE=52428801
    < 552 5.3.4`,
  'a size that fits': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> SIZE=52428800
    < 250`,
  'a size that is no number': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> SIZE=big
    < 501 5.5.4`,
  '8-bit content': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> BODY=8BITMIME
    < 250`,
  'binary content is not taken': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> BODY=BINARYMIME
    < 501 5.5.4`,
  'BDAT is no command here': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > BDAT 3 LAST
    < 500`,
  'an address beyond ASCII': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<ä@example.org> SMTPUTF8
    < 250
    > RCPT TO:<grüße@DOMAIN>
    < 250`,
  'an unknown parameter': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org> RET=HDRS ENVID=x
    < 555 5.5.4
    > MAIL FROM:<a@example.org> FOO=bar
    < 555 5.5.4
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN> NOTIFY=NEVER
    < 555 5.5.4`,
  'a sender that is no address': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@>
    < 501 5.1.7`,
  'a recipient with a quoted local part': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<"x y"@example.org>
    < 250
    > RCPT TO:<"b c"@DOMAIN>
    < 250
    > RCPT TO:<"b c"@example.net>
    < 550 5.7.1
    > DATA
    < 354
    >> x\\r\\n.\\r\\n
    < 250 2.0.0 Stored`,
  'a recipient that is no address': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b c@DOMAIN>
    < 501 5.1.3
    > RCPT TO:DOMAIN
    < 501 5.1.3
    > RCPT TO:<>
    < 5`,
  'EHLO without a name': `
    < 220
    > EHLO
    < 501`,
  'an unknown command': `
    < 220
    > HELLO there
    < 500`,
  HTTP: `
    < 220
    >> GET / HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n
    < 421 4.7.0 This is an SMTP port`,
  'VRFY and EXPN give nobody away': `
    < 220
    > EHLO a.example
    < 250
    > VRFY b@DOMAIN
    < 252
    > EXPN list
    < 50`,
  'NOOP and HELP': `
    < 220
    > NOOP
    < 250 2.0.0
    > noop with words
    < 250 2.0.0
    > HELP
    < 214 2.0.0 EHLO,
    > help MAIL
    < 214 2.0.0 EHLO,`,
  'HELP names what there is': `
    < 220
    > EHLO a.example
    < 250
    > STARTTLS
    < 220
    tls
    > HELP
    < 214 2.0.0 EHLO, MAIL, RCPT, DATA, RSET, NOOP, VRFY, QUIT`,
  'HELO without a name, or with two': `
    < 220
    > HELO
    < 501 5.5.4 Send HELO with the name of your host
    > HELO a b
    < 501 5.5.4 Send HELO
    > MAIL FROM:<a@example.org>
    < 503 5.5.1 Send EHLO first`,
  'a host without a name': `
    < 220
    > EHLO [127.0.0.1]
    < 250-rasket.test
    > EHLO [IPv6:2001:db8::1]
    < 250-rasket.test
    > HELO [127.0.0.1]
    < 250 rasket.test
    > MAIL FROM:<a@example.org>
    < 250 2.1.0
    > RCPT TO:<b@DOMAIN>
    < 250 2.1.5`,
  'spaces beyond those that are needed': `
    < 220
    > EHLO   a.example \t
    < 250
    > MAIL FROM: <a@example.org>   SIZE=10  BODY=8BITMIME \t
    < 250 2.1.0
    > rcpt to: <b@DOMAIN> \t
    < 250 2.1.5
    > MAIL  FROM:<a@example.org>
    < 50
    >  NOOP
    < 500 5.5.2`,
  'words where there may be none': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > RSET now
    < 501 5.5.4 RSET takes no parameters
    > DATA now
    < 501 5.5.4 DATA takes no parameters
    > DATA
    < 354`,
  'commands of SMTP that there are not': `
    < 220
    > EHLO a.example
    < 250
    > EXPN list
    < 502 5.5.1 EXPN is not supported
    > EXPN
    < 502 5.5.1
    > SEND FROM:<a@example.org>
    < 500 5.5.2
    > VRFY
    < 501 5.5.4 Send VRFY with an address
    > vrfy b@DOMAIN
    < 252 2.0.0`,
  'a command that is too long': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<LONG@example.org>
    < 421`,
  'STARTTLS, then a message': `
    < 220
    > EHLO a.example
    < 250
    > STARTTLS
    < 220
    tls
    > EHLO a.example
    < 250-rasket.test\\n250-PIPELINING\\n250-8BITMIME\\n250-SMTPUTF8\\n250-ENHANCEDSTATUSCODES\\n250 SIZE 52428800
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> secret\\r\\n.\\r\\n
    < 250`,
  'STARTTLS forgets what was said before': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > STARTTLS
    < 220
    tls
    > MAIL FROM:<a@example.org>
    < 503 5.5.1 Send EHLO first
    > EHLO a.example
    < 250
    > RCPT TO:<b@DOMAIN>
    < 503`,
  'STARTTLS twice': `
    < 220
    > EHLO a.example
    < 250
    > STARTTLS
    < 220
    tls
    > EHLO a.example
    < 250
    > STARTTLS
    < 503`,
  'STARTTLS with a parameter': `
    < 220
    > EHLO a.example
    < 250
    > STARTTLS now
    < 501`,
  'XCLIENT and XFORWARD tell nothing': `
    < 220
    > EHLO a.example
    < 250
    > XCLIENT ADDR=127.0.0.2
    < 50
    > XFORWARD NAME=trusted.example
    < 50`,
  'ETRN and TURN': `
    < 220
    > EHLO a.example
    < 250
    > ETRN DOMAIN
    < 50
    > TURN
    < 50`,
  'dots at the start of lines': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> ..\\r\\n..x\\r\\n...\\r\\n.\\r\\n
    < 250`,
  'commands that bring nothing, before a message and after it': `
    < 220
    > EHLO a.example
    < 250
    ${'> NOOP\n< 250\n'.repeat(90)}
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@DOMAIN>
    < 250
    > DATA
    < 354
    >> x\\r\\n.\\r\\n
    < 250
    ${'> RSET\n< 250\n> EHLO a.example\n< 250\n> NOOP\n< 250\n'.repeat(33)}
    > NOOP
    < 421 4.7.0 No message was sent within 100 commands
    <>`,
  'a source route is read past': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<@relay.example.net:b@DOMAIN>
    < 250`,
  'a domain beyond ASCII is named as every client can read it': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<b@jörg.example>
    < 550 5.7.1 This server does not receive mail for xn--jrg-sna.example`,
  'a sender beyond ASCII without SMTPUTF8': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<jörg@example.org>
    < 553 5.6.7 An address with non-ASCII characters needs the parameter SMTPUTF8 of MAIL
    > MAIL FROM:<jörg@example.org> SMTPUTF8
    < 250 2.1.0`,
  'a recipient beyond ASCII without SMTPUTF8': `
    < 220
    > EHLO a.example
    < 250
    > MAIL FROM:<a@example.org>
    < 250
    > RCPT TO:<jörg@DOMAIN>
    < 553 5.6.7 An address with non-ASCII characters needs the parameter SMTPUTF8 of MAIL
    > RCPT TO:<b@DOMAIN>
    < 250 2.1.5`,
};
