import { withoutQuotes } from './quoted-path.ts';

/** RFC 3461 §4: any octet other than printable ASCII, "+" or "=" is "+" and two hexadecimal digits in capitals. */
const XTEXT = /^(?:[!-*,-<>-~]|\+[\dA-F]{2})*$/;
const HEX = /\+([\dA-F]{2})/g;
const NAME = /^[A-Z\d][A-Z\d-]*$/;

/**
 * The fault in the parameters of MAIL or RCPT as they were written. The library takes malformed xtext for plain text,
 * and a control character in any of them for a fault of the address.
 */
export function parameterFault(command: string): string | undefined {
  const text = withoutQuotes(command)?.command ?? command;
  const [, ...parameters] = text
    .slice(text.indexOf(':') + 1)
    .trim()
    .split(/\s+/);
  for (const parameter of parameters) {
    const [keyword = '', ...rest] = parameter.split('=');
    const name = keyword.toUpperCase();
    if (!NAME.test(name)) continue;
    const value = rest.join('=');
    if (hasOthers(value)) return `${name} has other characters than printable ASCII`;
    const xtext = name === 'ENVID' ? value : name === 'ORCPT' ? value.slice(value.indexOf(';') + 1) : '';
    if (!XTEXT.test(xtext)) {
      return `${name} is not xtext: write what is no printable ASCII, "+" or "=" as "+" and two hexadecimal digits, as in +2B`;
    }
  }
  return undefined;
}

function hasOthers(value: string): boolean {
  const plain = value.replace(HEX, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return /\p{Cc}/u.test(plain);
}
