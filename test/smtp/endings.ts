/** The endings that one server takes for the end of a message and another does not: only CRLF . CRLF is one (RFC 5321 §4.1.1.4). */
export const ENDINGS: [name: string, end: string][] = [
  ['LF . LF', '\n.\n'],
  ['LF . CRLF', '\n.\r\n'],
  ['CRLF . LF', '\r\n.\n'],
  ['CR . CR', '\r.\r'],
  ['CR . CRLF', '\r.\r\n'],
  ['CRLF . CR', '\r\n.\r'],
  ['LF . CR', '\n.\r'],
  ['CR . LF', '\r.\n'],
  ['LF CR . LF CR', '\n\r.\n\r'],
  ['CRLF . CRCRLF', '\r\n.\r\r\n'],
  ['CRLF . LF CRLF', '\r\n.\n\r\n'],
  ['LF LF . LF LF', '\n\n.\n\n'],
  ['CRLF . NUL CRLF', '\r\n.\u0000\r\n'],
  ['CRLF NUL . CRLF', '\r\n\u0000.\r\n'],
  ['CR NUL LF . CR NUL LF', '\r\u0000\n.\r\u0000\n'],
  ['CRLF .. CRLF', '\r\n..\r\n'],
  ['CRLF . space CRLF', '\r\n. \r\n'],
  ['CRLF space . CRLF', '\r\n .\r\n'],
  ['CRLF . tab CRLF', '\r\n.\t\r\n'],
  ['CRCRLF . CRCRLF', '\r\r\n.\r\r\n'],
  ['NEL . NEL', '\u0085.\u0085'],
  ['VT . VT', '\v.\v'],
  ['FF . FF', '\f.\f'],
  ['FS . FS', '\u001c.\u001c'],
  ['SUB', '\u001a'],
  ['line separator', '\u2028.\u2028'],
  ['paragraph separator', '\u2029.\u2029'],
  ['a dot beside a zero-width space', '\r\n\u200b.\r\n'],
  ['a fullwidth dot', '\r\n\uff0e\r\n'],
  ['letters that end in the bytes of CR and LF', '\u010d\u010a.\u010d\u010a'],
  ['quoted-printable', '=0D=0A.=0D=0A'],
  ['UTF-7', '+AA0ACgAuAA0ACg-'],
  ['backslashes', '\\r\\n.\\r\\n'],
  ['percent signs', '%0d%0a.%0d%0a'],
];

/** A whole message as it would be heard if the one before had ended. */
export const hiddenMessage = (from: string, to: string): string =>
  [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA', 'Subject: hidden', '', 'hidden'].join('\r\n');

/** A CR or LF without the other. */
export const hasBareLineEnd = (content: string): boolean => /\r(?!\n)|(?<!\r)\n/.test(content);
