import type { TeamRow } from '../../../tenancy/teams/index.ts';
import { chooseTextColor, makeReadable } from '../../../protocol/color-contrast.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, formStyle } from '../layout/index.ts';

/** What a team chose for its pages. */
export type PageLook = Pick<
  TeamRow,
  'logo_url' | 'accent_color' | 'page_headline' | 'page_intro' | 'page_goodbye' | 'default_language'
>;

/** The grounds that texts in the accent color have least contrast with, in light and in dark pages. */
const LIGHT_GROUND = '#f6f7f9';
const DARK_CARD = '#181c22';

const BRAND_STYLE = `.brand{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;margin:0 .25rem 1rem}
.brand img{display:block;max-width:100%;max-height:4rem;width:auto;height:auto;background:#fff;border-radius:.25rem;padding:.25rem}
.brand p{margin:0;font-size:1.125rem;font-weight:600}
`;

/** Returns the style of a team's pages. Texts in its color stay readable on every ground, and on its buttons. */
export function buildPageStyle(
  { accent_color: color, logo_url: logo, page_headline: headline }: PageLook,
  base = formStyle,
): string {
  const brand = logo === null && headline === null ? '' : BRAND_STYLE;
  if (color === null) return base + brand;
  const light = makeReadable(color, LIGHT_GROUND);
  const dark = makeReadable(color, DARK_CARD);
  return `${base}${brand}:root{--accent:${light}}
@media (prefers-color-scheme:dark){:root{--accent:${dark}}}
button:not(.second){background:${color};color:${chooseTextColor(color)}}
`;
}

/** Returns the source expression that lets a page load the logo and no other image; undefined without a logo. */
export function readImageSource({ logo_url: logo }: PageLook): string | undefined {
  if (logo === null) return undefined;
  const { origin, pathname } = new URL(logo);
  return origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C');
}

export function renderBrand(look: PageLook, senderName: string): string {
  const { logo_url: logo, page_headline: headline } = look;
  if (logo === null && headline === null) return '';
  const image = logo === null ? '' : `<img src="${escapeHtml(logo)}" alt="${escapeHtml(senderName)}">`;
  return `<header class="brand">${image}${renderWords(look, headline)}</header>\n`;
}

/** Renders a text of the team, which is in the language of the team. */
export const renderWords = ({ default_language: language }: PageLook, words: string | null): string =>
  words === null ? '' : `<p lang="${language}">${bdi(words)}</p>`;
