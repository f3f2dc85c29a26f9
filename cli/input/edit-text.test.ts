import { expect, it } from 'vitest';
import { aboveScissors, SCISSORS } from './edit-text.ts';

it.each([
  [`Hello\n\n${SCISSORS}\n> quoted\n`, 'Hello'],
  [`\n \n${SCISSORS}\n> quoted\n`, ''],
  ['Without the line\r\n', 'Without the line'],
  [`Above\n  ${SCISSORS}  \nbelow\n${SCISSORS}\n`, 'Above'],
])('the typed text %j becomes the message %j', (typed, text) => expect(aboveScissors(typed)).toBe(text));
