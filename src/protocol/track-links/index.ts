/**
 * Tracked links: finds the links of an HTML body and the place of its pixel, replaces their addresses, and encodes and
 * decodes the tokens of those addresses. Every byte outside of a link's target stays as it is. It holds no key: callers
 * pass MACs.
 */
export {
  clickToken,
  openToken,
  readClickToken,
  readOlderClickToken,
  readOlderOpenToken,
  readOpenToken,
  type Click,
  type Mac,
  type MailOfDomain,
  type TrackedMail,
} from './token.ts';
export {
  listStartTags,
  type StartTag,
  findTargets,
  HTML_CHARS_MAX,
  isWebAddress,
  LINKS_MAX,
  scanHtml,
  trackHtml,
  writeTargets,
  type Targets,
  type TrackOptions,
} from './track-html.ts';
