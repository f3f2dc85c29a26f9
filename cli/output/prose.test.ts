import { describe, expect, it } from 'vitest';
import { fitProse } from './prose.ts';

describe('text at a terminal', () => {
  it('wraps between words, and keeps its indent', () => {
    expect(fitProse('  The mailbox is full; nothing is wrong with the message.\nShort.', 24)).toBe(
      ['  The mailbox is full;', '  nothing is wrong with', '  the message.', 'Short.'].join('\n'),
    );
  });

  it('wraps neither a command nor a word that is longer than the line', () => {
    expect(fitProse('Enable it first: rasket webhooks update wh_1 --status enabled (with the key)', 46)).toBe(
      ['Enable it first:', 'rasket webhooks update wh_1 --status enabled', '(with the key)'].join('\n'),
    );
    expect(fitProse("Send one with: rasket send --text 'It works; or not.' --to a@example.org", 30)).toBe(
      "Send one with:\nrasket send --text 'It works; or not.' --to a@example.org",
    );
    expect(fitProse('Add one with: rasket webhooks create URL; or hear it with: rasket webhooks listen', 40)).toBe(
      ['Add one with:', 'rasket webhooks create URL;', 'or hear it with: rasket webhooks listen'].join('\n'),
    );
    expect(fitProse(`See ${'x'.repeat(30)} there`, 12)).toBe(`See\n${'x'.repeat(30)}\nthere`);
  });

  it('wraps by visible width, and ignores color codes', () => {
    expect(fitProse('\u001B[2mone two three\u001B[0m', 13)).toBe('\u001B[2mone two three\u001B[0m');
    expect(fitProse('\u001B[2mone two three\u001B[0m', 8)).toBe('\u001B[2mone two\nthree\u001B[0m');
  });
});
