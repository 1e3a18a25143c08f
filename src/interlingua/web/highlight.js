// Code in colours: comments, strings, numbers and words that many languages share. Text nodes only.

import { h } from "./dom.js";

const LONGEST = 50_000;
const HASH = new Set(["python", "py", "sh", "bash", "shell", "zsh", "console", "yaml", "yml", "toml", "ruby", "rb", "perl", "r", "make", "makefile", "dockerfile", "ini"]);
const DASH = new Set(["sql", "lua", "haskell", "hs"]);
const PLAIN = new Set(["text", "txt", "plain", "markdown", "md", "diff", "output", "log"]);
const WORDS = new Set(
  (
    "and,as,async,await,break,case,catch,class,const,continue,def,default,del,do,elif,else,enum,except,export," +
    "extends,false,False,finally,fn,for,from,func,function,go,if,impl,import,in,interface,is,lambda,let,match," +
    "mod,mut,namespace,new,nil,None,not,null,or,package,pass,private,protected,pub,public,raise,return,select," +
    "self,static,struct,super,switch,then,this,throw,true,True,try,type,typeof,union,unsafe,use,using,var,void," +
    "where,while,with,yield,SELECT,FROM,WHERE,INSERT,INTO,UPDATE,DELETE,CREATE,TABLE,JOIN,ON,GROUP,BY,ORDER," +
    "LIMIT,VALUES,AND,OR,NOT,NULL,AS,SET"
  ).split(","),
);

function pattern(language) {
  const comment = HASH.has(language) ? "#[^\\n]*" : DASH.has(language) ? "--[^\\n]*" : "\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/";
  const comments = language ? comment : "#[^\\n]*|\\/\\/[^\\n]*";
  const strings = "\"\"\"[\\s\\S]*?\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`";
  return new RegExp(`(${strings})|(${comments})|\\b(0x[\\da-fA-F]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b|([A-Za-z_]\\w*)`, "g");
}

/** The text as nodes, those with a meaning in a `span` with its class. */
export function highlighted(text, language = "") {
  const name = language.toLowerCase();
  if (text.length > LONGEST || PLAIN.has(name)) return [text];
  const out = [];
  let at = 0;
  for (const match of text.matchAll(pattern(name))) {
    const [whole, string, comment, number, word] = match;
    const kind = string ? "string" : comment ? "comment" : number ? "number" : WORDS.has(word) ? "word" : null;
    if (!kind) continue;
    if (match.index > at) out.push(text.slice(at, match.index));
    out.push(h("span", { class: `hl-${kind}` }, whole));
    at = match.index + whole.length;
  }
  out.push(text.slice(at));
  return out;
}
