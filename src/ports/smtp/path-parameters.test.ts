import { expect, test } from 'vitest';
import { parameterFault } from './smtp-parser.ts';

const OTHERS = 'has other characters than printable ASCII';

test.each([
  'MAIL FROM:<a@example.net>',
  'mail from: <a@example.net> SIZE=10 BODY=8BITMIME SMTPUTF8',
  'MAIL FROM:<> ENVID=a+2Bb+3D!~ RET=FULL',
  'MAIL FROM:<a@example.net> ENVID=',
  'MAIL FROM:<a@example.net> ENVID',
  'MAIL FROM:<a@example.net> AUTH=<>',
  'RCPT TO:<a+ZZ@example.net> ORCPT=rfc822;a+2BZZ@example.net',
  'RCPT TO:<"a ORCPT=+ZZ"@example.net> NOTIFY=NEVER',
  'RCPT TO:<a@example.net> ORCPT=x@y.example',
  'RCPT TO:<a@example.net> ORCPT=utf-8;j\\x{F6}rg@example.net',
  'MAIL FROM:<a@example.net> X+Y=+ZZ',
  'MAIL',
])('nothing is wrong with the parameters of %s', (command) => {
  expect(parameterFault(command)).toBeUndefined();
});

test.each([
  ['MAIL FROM:<a@example.net> ENVID=a+ZZ', 'ENVID is not xtext: '],
  ['MAIL FROM:<a@example.net> envid=a+2b', 'ENVID is not xtext: '],
  ['MAIL FROM:<a@example.net> ENVID=a+2', 'ENVID is not xtext: '],
  ['MAIL FROM:<a@example.net> ENVID=a=b', 'ENVID is not xtext: '],
  ['MAIL FROM:<a@example.net> ENVID=jörg', 'ENVID is not xtext: '],
  ['RCPT TO:<"a b"@example.net> NOTIFY=NEVER ORCPT=rfc822;a+', 'ORCPT is not xtext: '],
  ['MAIL FROM:<a@example.net> ENVID=a+0D+0Ab', `ENVID ${OTHERS}`],
  ['MAIL FROM:<a@example.net> ENVID=a\u0001b', `ENVID ${OTHERS}`],
  ['RCPT TO:<a@example.net> ORCPT=rfc822;a+7Fb', `ORCPT ${OTHERS}`],
  ['RCPT TO:<a@example.net> ORCPT=a+0D;b', `ORCPT ${OTHERS}`],
  ['MAIL FROM:<a@example.net> SIZE=1+0A', `SIZE ${OTHERS}`],
])('%j: %s', (command, says) => {
  expect(parameterFault(command)).toContain(says);
});
