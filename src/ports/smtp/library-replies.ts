/** What the replies depend on. */
export interface ReplyRules {
  mayLogInPlain: boolean;
  messageBytesMax: number;
}

type Words = string | ((rules: ReplyRules) => string);

const TOO_LARGE = ({ messageBytesMax }: Pick<ReplyRules, 'messageBytesMax'>): string =>
  `5.3.4 The message is larger than the ${messageBytesMax} bytes that are taken; send less, or a link`;

/** The library's replies name what is wrong; ours say what to do about it. A key is the beginning of a library reply. */
const WORDS: readonly [says: string, ours: Words][] = [
  ['Error: send HELO/EHLO first', '5.5.1 Say EHLO first'],
  [
    'Error: authentication Required',
    ({ mayLogInPlain }) =>
      mayLogInPlain
        ? '5.7.0 Log in first: AUTH PLAIN or AUTH LOGIN, with an API key as the password'
        : '5.7.0 Log in first: STARTTLS, then AUTH PLAIN or AUTH LOGIN, with an API key as the password',
  ],
  ['Error: Must issue a STARTTLS command first', '5.7.11 Encrypt first: say STARTTLS, then AUTH'],
  ['Error: No identity changes permitted', '5.5.1 You are logged in; connect again to log in as somebody else'],
  ['Error: Unrecognized authentication type', '5.5.4 Log in by AUTH PLAIN or AUTH LOGIN; there is no other way'],
  ['Error: invalid userdata', '5.5.2 That is not the base64 of a user name and a password'],
  ['Error: missing username', '5.5.2 The user name is missing; it is "rasket"'],
  ['Authentication aborted', '5.7.0 The login was called off'],
  ['Authentication successful', '2.7.0 Logged in'],
  ['Error: too many unauthenticated commands', '4.7.0 Too many commands without a login; connect again and log in'],
  ['Error: too many unrecognized commands', '4.7.0 Too many commands that nobody knows; this is an SMTP port'],
  ['Error: command not recognized', '5.5.2 There is no such command here; HELP lists them'],
  ['Error: Command line too long', '4.7.0 The line is too long for a command; is this content without DATA?'],
  ['HTTP requests not allowed', '4.7.0 This is an SMTP port; HTTP has another'],
  ['Timeout - closing connection', '4.4.2 Nothing was heard for too long; connect again'],
  ['Server shutting down', '4.3.2 The server is shutting down; connect again in a minute'],
  ['Error: TLS already active', '5.5.1 The connection is encrypted already'],
  ['Error: syntax: STARTTLS', '5.5.4 STARTTLS takes no parameters'],
  ['Error: Bad sender address syntax', '5.1.7 Write MAIL FROM:<local@example.com>'],
  ['Error: Bad recipient address syntax', '5.1.3 Write RCPT TO:<local@example.com>'],
  ['Error: nested MAIL command', '5.5.1 A transaction is under way; end it with DATA, or say RSET'],
  ['Error: need MAIL command', '5.5.1 Say MAIL first'],
  ['Error: need RCPT command', '5.5.1 No recipient was taken; say RCPT first'],
  ['Error: message exceeds fixed maximum message size', TOO_LARGE],
  ['Error: Bad message size syntax', '5.5.4 SIZE takes a number of bytes'],
  ['Invalid BODY parameter value', '5.5.4 BODY is 7BIT or 8BITMIME; there is no BINARYMIME here'],
  ['Invalid SMTPUTF8 parameter', '5.5.4 SMTPUTF8 takes no value'],
  ['Invalid RET parameter value', '5.5.4 RET is FULL or HDRS'],
  ['Error: NOTIFY', '5.5.4 NOTIFY is NEVER, or some of SUCCESS, FAILURE and DELAY with commas between'],
  [
    'Error: Bad ORCPT parameter syntax',
    '5.5.4 ORCPT is a type, a semicolon and an address, as in rfc822;someone@example.com',
  ],
  ['Invalid REQUIRETLS parameter', '5.5.4 REQUIRETLS takes no value'],
  ['REQUIRETLS not permitted on non-TLS', '5.7.11 Encrypt first: REQUIRETLS means this connection too'],
  ['Error: internal server error', '4.3.0 Temporary local problem; try again later'],
  ['Error: Syntax: HELO hostname', '5.5.4 Say HELO and the name of your host'],
  ['Error: Bad hostname syntax', '5.5.4 Say HELO and the name of your host'],
  ['Error: Syntax: VRFY address', '5.5.4 Say VRFY and an address'],
  ['Try to send something', '2.0.0 Addresses are not looked up for you; send to them'],
];

export function inOurWords(said: string, rules: ReplyRules): string {
  if (said.endsWith('You talk too soon')) return '4.7.0 Wait for the greeting before you speak';
  const found = WORDS.find(([start]) => said.startsWith(start))?.[1];
  if (found === undefined) return said.replace(/^Error: /, '');
  return typeof found === 'string' ? found : found(rules);
}

export const tooLarge = TOO_LARGE;
