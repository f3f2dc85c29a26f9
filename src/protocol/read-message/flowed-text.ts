/**
 * Joins the lines of a text with `format=flowed` (RFC 3676 §4.1). Quote marks are removed before lines are joined,
 * lines of different quote depth are never joined, and a signature separator remains a line of its own. Each quoted
 * line of the result has its marks and one space.
 */
export function decodeFlowedText(text: string, isDelSp: boolean): string {
  const out: string[] = [];
  /** The quote depth of a line that ended with a soft break; undefined after a hard break. */
  let flowedDepth: number | undefined;
  for (let from = 0; from < text.length;) {
    const lf = text.indexOf('\n', from);
    const end = lf < 0 ? text.length : lf;
    const line = readLine(text.slice(from, text[end - 1] === '\r' ? end - 1 : end), isDelSp);
    const isJoined = flowedDepth === line.depth && !line.isSignature;
    if (flowedDepth !== undefined && !isJoined) out.push('\n');
    if (!isJoined && line.depth > 0) out.push('>'.repeat(line.depth), line.content === '' ? '' : ' ');
    out.push(line.content);
    flowedDepth = line.isFlowed ? line.depth : undefined;
    // A soft break at the end of the text joins nothing.
    if (lf >= 0 && (!line.isFlowed || lf === text.length - 1)) out.push('\n');
    from = end + 1;
  }
  return out.join('');
}

interface FlowedLine {
  depth: number;
  content: string;
  isFlowed: boolean;
  isSignature: boolean;
}

function readLine(line: string, isDelSp: boolean): FlowedLine {
  let depth = 0;
  while (line[depth] === '>') depth++;
  const unstuffed = line.slice(line[depth] === ' ' ? depth + 1 : depth);
  const isSignature = unstuffed === '-- ';
  const isFlowed = unstuffed.endsWith(' ') && !isSignature;
  return { depth, content: isFlowed && isDelSp ? unstuffed.slice(0, -1) : unstuffed, isFlowed, isSignature };
}
