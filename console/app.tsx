import { Box, Text, useApp, useInput, usePaste, useWindowSize } from 'ink';
import { Component, useSyncExternalStore, type ReactNode } from 'react';
import { clean } from '../cli/output/index.ts';
import { isClosed } from './catalog.ts';
import { boxed, bold, formatClock, faint, fit, inHand, shownWidth, wholes, wrap } from './draw/text.ts';
import { keysLine } from './foot.ts';
import { keysIn, type InkKey } from './terminal.ts';
import type { Navigator } from './navigator.ts';
import { drawPanes, isWide } from './screens/screen.ts';

export interface AppInput {
  navigator: Navigator;
  version: string;
  /** The origin of the server's address. */
  urlFrom: string;
}

/** The smallest terminal on which the screens are still readable. */
const COLUMNS_MIN = 40;
const ROWS_MIN = 10;

export function App({ navigator, version, urlFrom }: AppInput): ReactNode {
  useSyncExternalStore(navigator.subscribe, navigator.version);
  const { columns, rows } = useWindowSize();
  const { suspendTerminal } = useApp();
  navigator.suspend = suspendTerminal;
  useInput((input, key: InkKey) => {
    for (const one of keysIn(input, key)) navigator.key(one);
  });
  usePaste((text) => navigator.paste(text));
  if (columns < COLUMNS_MIN || rows < ROWS_MIN) {
    return <Text>{`The console needs ${COLUMNS_MIN} columns and ${ROWS_MIN} lines.`}</Text>;
  }
  const { faults } = navigator;
  const lower = faults.orInWords(
    () => lowerLines(navigator, columns),
    () => [''],
  );
  const size = { columns, rows: rows - 4 - lower.length };
  navigator.isWide = isWide(columns);
  // Drawn first, because drawing finds out how much there is to scroll.
  const lines = body(navigator, size);
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Line text={header(navigator, version, urlFrom, columns)} />
      <Line text={tabs(navigator, columns)} />
      <Line text={faults.orInWords(() => crumbs(navigator, columns), inALine)} />
      <Lines lines={lines} height={size.rows} />
      <Lines lines={lower.map((line) => fit(line, columns))} height={lower.length} />
      <Line
        text={fit(
          faults.orInWords(() => keysLine(navigator, columns), inALine),
          columns,
        )}
      />
    </Box>
  );
}

const Line = ({ text }: { text: string }): ReactNode => <Text wrap="truncate">{text === '' ? ' ' : text}</Text>;

const Lines = ({ lines, height }: { lines: readonly string[]; height: number }): ReactNode => (
  <Box flexDirection="column" height={height}>
    {Array.from({ length: height }, (_, at) => (
      <Line key={at} text={lines[at] ?? ''} />
    ))}
  </Box>
);

/** The screen itself shows the fault. */
const inALine = (): string => '';

/** Puts left and right on one line; the left is shortened. */
function apart(left: string, right: string, columns: number): string {
  const room = columns - shownWidth(right) - 1;
  return `${fit(left, Math.max(0, room))} ${right}`;
}

function header({ client, lostSince, terminal }: Navigator, version: string, urlFrom: string, columns: number): string {
  const where = clean(`${client.url} (${urlFrom})`);
  const since = lostSince === undefined ? '' : formatClock(lostSince);
  const state =
    lostSince === undefined
      ? terminal.paint('green', '✓ connected')
      : terminal.paint('red', `✗ no response since ${since}, retrying`);
  return apart(` ${bold('rasket')} ${faint(version)}  ${where}`, `${state} `, columns);
}

function tabs({ sectionName: current, sections, isPerson }: Navigator, columns: number): string {
  const texts = sections.map((section, at) => {
    const { name } = section;
    const label = at < 10 ? `${(at + 1) % 10} ${name}` : name;
    if (name === current) return inHand(label);
    return isClosed(section, isPerson) ? ` ${faint(label)} ` : ` ${label} `;
  });
  const at = sections.findIndex(({ name }) => name === current);
  return wholes(texts, Math.max(0, at), columns);
}

/** Returns the note; a filter in it is shown as typed or pasted. */
const formatNote = (screen: Navigator['screen']): string => clean(screen?.note() ?? '');

/** Reports whether a note fits next to the crumbs, which keep enough space to show the location. */
const hasRoom = (note: string, columns: number): boolean => shownWidth(note) <= columns - 13;

function crumbs({ screens, screen }: Navigator, columns: number): string {
  const titles = screens.map(({ title }) => title);
  const note = formatNote(screen);
  return apart(` ${bold(titles.join(' › '))}`, hasRoom(note, columns) ? `${note} ` : '', columns);
}

function body({ screens, dialog, prompt, faults }: Navigator, size: { columns: number; rows: number }): string[] {
  const lines = faults.orInWords(
    () => drawPanes(screens, size),
    (fault) => ['', ...wrap(`  ${fault}`, size.columns - 2)],
  );
  const width = Math.min(size.columns - 4, 110);
  if (!dialog) {
    const offered = prompt && prompt.entries.length > 0 ? prompt.draw(width - 4, size.rows - 3) : [];
    return offered.length === 0
      ? lines
      : over(lines, boxed('Go to a screen, or run an action', offered, width, prompt?.where), size.rows);
  }
  const inside = faults
    .orInWords(
      () => dialog.draw(width - 4, size.rows - 4),
      (fault) => wrap(fault, width - 4),
    )
    .slice(0, size.rows - 3);
  return over(lines, boxed(dialog.title, inside, width, dialog.where), size.rows);
}

/** Draws a box so that the subject of it stays visible above. */
function over(lines: readonly string[], box: readonly string[], rows: number): string[] {
  const above = Array.from({ length: rows - box.length }, (_, at) => lines[at] ?? '');
  return [...above, ...box.map((line) => `  ${line}`)];
}

const LOWER_MAX = 4;

/** Returns the typed line, or else the whole message and a note for which there is no space above. */
function lowerLines(navigator: Navigator, columns: number): string[] {
  const { prompt, message, screen, dialog } = navigator;
  if (!prompt) {
    // A dialog shows its own faults.
    const note = dialog ? '' : formatNote(screen);
    const said = new Set([message, hasRoom(note, columns) ? '' : note].filter((text) => text !== ''));
    const lines = [...said].flatMap((text) => wrap(text, columns - 2)).slice(0, LOWER_MAX);
    return lines.length === 0 ? [''] : lines.map((line) => ` ${line}`);
  }
  const typed = prompt.sign + prompt.line.draw(columns - 3);
  const left = columns - shownWidth(typed) - 5;
  const offered = fit(prompt.completions.join('  '), Math.max(0, left)).trimEnd();
  const wrong = prompt.fault === '' ? [] : wrap(prompt.fault, columns - 2).slice(0, LOWER_MAX - 1);
  return [...wrong.map((line) => ` ${line}`), ` ${typed}  ${faint(offered)}`];
}

/** Ends the console on any error while drawing, restores the terminal and reports the fault. */
export class Guard extends Component<
  { children: ReactNode; onFault: (fault: unknown) => void },
  { isBroken: boolean }
> {
  override state = { isBroken: false };

  static getDerivedStateFromError(): { isBroken: boolean } {
    return { isBroken: true };
  }

  override componentDidCatch(fault: unknown): void {
    this.props.onFault(fault);
  }

  override render(): ReactNode {
    return this.state.isBroken ? null : this.props.children;
  }
}
