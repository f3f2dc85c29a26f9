import { describe, expect, it } from 'vitest';
import { makeReadable, measureContrast } from '../../../protocol/color-contrast.ts';
import { buildPageStyle, readImageSource } from './look.ts';

const none = {
  logo_url: null,
  accent_color: null,
  page_headline: null,
  page_intro: null,
  page_goodbye: null,
  default_language: 'en',
} as const;

describe('the color of a team', () => {
  it('is measured as WCAG does', () => {
    expect(measureContrast('#000000', '#ffffff')).toBe(21);
    expect(measureContrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  });

  it('is readable as text and as the ground of a text, whichever it is', () => {
    for (let n = 0; n < 0x1000000; n += 0x10f0f) {
      const color = `#${n.toString(16).padStart(6, '0')}`;
      for (const ground of ['#ffffff', '#f6f7f9', '#181c22', '#0f1216']) {
        const readable = makeReadable(color, ground);
        expect(measureContrast(readable, ground), `${color} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
      const style = buildPageStyle({ ...none, accent_color: color });
      const text = /background:#[0-9a-f]{6};color:(#[0-9a-f]{6})/.exec(style)?.[1] ?? '';
      expect(measureContrast(text, color), color).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('stays as it is where it can be read', () => {
    expect(makeReadable('#0b57d0', '#ffffff')).toBe('#0b57d0');
    expect(makeReadable('#ffee00', '#ffffff')).not.toBe('#ffee00');
  });
});

describe('the source of a logo in a Content-Security-Policy', () => {
  it.each([
    ['https://cdn.example/a/logo.png?v=1#x', 'https://cdn.example/a/logo.png'],
    ["https://cdn.example/a;script-src *,b'.png", "https://cdn.example/a%3Bscript-src%20*%2Cb'.png"],
  ])('of %s is %s', (logo_url, source) => expect(readImageSource({ ...none, logo_url })).toBe(source));
});
